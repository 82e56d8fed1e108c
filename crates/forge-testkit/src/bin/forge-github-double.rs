//! t
fn main() {
    let p = std::env::args().nth(1).unwrap();
    print!("{}", forge_testkit::github::schema::reduce(&std::fs::read_to_string(p).unwrap()).unwrap());
}
