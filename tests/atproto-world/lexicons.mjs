// Checks records with the reference implementation of Lexicon. Reads from standard input
//   { "documents": { "<set>": [<lexicon>…] }, "cases": [{ "set", "collection", "record" }…] }
// and prints an array with one item for each case: null if the record is valid, else the error.
import { Lexicons, jsonToLex } from '@atproto/lexicon'

let input = ''
for await (const chunk of process.stdin) input += chunk
const { documents, cases } = JSON.parse(input)
const sets = {}
for (const [name, all] of Object.entries(documents)) sets[name] = new Lexicons(all)
const verdicts = cases.map(({ set, collection, record }) => {
  try {
    sets[set].assertValidRecord(collection, jsonToLex(record))
    return null
  } catch (error) {
    return String(error.message)
  }
})
console.log(JSON.stringify(verdicts))
