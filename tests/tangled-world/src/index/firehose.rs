//! Follows a real PDS with `com.atproto.sync.subscribeRepos`. Its frames are CBOR, and contain the
//! written records as blocks of a CAR archive.

use std::{
    collections::BTreeMap,
    io,
    net::TcpStream,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use serde_json::Value;
use tungstenite::{Message, WebSocket};

use crate::{
    atproto::{cbor, cid},
    host,
    identities::Identities,
    network::{Change, Network},
    worker::Worker,
};

/// Pause before a new attempt to connect to a server.
const PAUSE: Duration = Duration::from_millis(20);
/// Maximum time that a server may be down.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads a firehose until the worker is dropped, and reconnects when its server restarts.
pub(super) fn follower(url: &str, network: Network, identities: Identities) -> io::Result<Worker> {
    let mut socket = connect(url, 0)?;
    let url = url.to_owned();
    Worker::start("firehose", move |stopped| {
        let mut cursor = 0;
        while !stopped.load(Ordering::SeqCst) {
            follow(&mut socket, &mut cursor, stopped, &network, &identities);
            std::thread::sleep(PAUSE);
            if let Ok(again) = connect(&url, cursor) {
                socket = again;
            }
        }
    })
}

/// Connects to a firehose, and requests the events after `cursor`.
fn connect(url: &str, cursor: i64) -> io::Result<WebSocket<TcpStream>> {
    let authority = url
        .strip_prefix("ws://")
        .and_then(|it| it.split('/').next())
        .ok_or_else(|| io::Error::other(format!("{url} is no ws:// address")))?;
    let stream = TcpStream::connect(authority)?;
    stream.set_read_timeout(Some(CONNECT_TIMEOUT))?;
    let (mut socket, _) = tungstenite::client(format!("{url}?cursor={cursor}"), stream)
        .map_err(|error| io::Error::other(error.to_string()))?;
    // The thread checks after each timeout whether it has to stop.
    socket
        .get_mut()
        .set_read_timeout(Some(Duration::from_millis(50)))?;
    Ok(socket)
}

/// Reads events until the connection breaks. `cursor` gets the number of the last event.
fn follow(
    socket: &mut WebSocket<TcpStream>,
    cursor: &mut i64,
    stop: &AtomicBool,
    network: &Network,
    identities: &Identities,
) {
    while !stop.load(Ordering::SeqCst) {
        match socket.read() {
            Ok(Message::Binary(frame)) => {
                if let Some((number, changes)) = commit(&frame, identities) {
                    network.publish(changes);
                    *cursor = number;
                }
            }
            Ok(_) => {}
            Err(tungstenite::Error::Io(error))
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                ) => {}
            Err(_) => return,
        }
    }
}

/// Returns the number of a frame and its changes, or `None` if the frame is not a commit.
fn commit(frame: &[u8], identities: &Identities) -> Option<(i64, Vec<Change>)> {
    let (header, used) = cbor::decode(frame)?;
    if header["t"] != "#commit" {
        return None;
    }
    let (body, _) = cbor::decode(frame.get(used..)?)?;
    let number = body["seq"].as_i64()?;
    let did = body["repo"].as_str()?;
    let archive = STANDARD_NO_PAD
        .decode(body["blocks"]["$bytes"].as_str()?)
        .ok()?;
    let blocks = blocks(&archive)?;
    let ops = body["ops"].as_array()?;
    let at = Instant::now();
    let changes = ops
        .iter()
        .filter_map(|op| {
            let (collection, rkey) = op["path"].as_str()?.split_once('/')?;
            let id = op["cid"]["$link"].as_str();
            let record = id.and_then(|id| {
                let block = blocks.get(id)?;
                Some((id.to_owned(), cbor::decode(block)?.0))
            });
            let blobs = record.as_ref().map(|(_, it)| blobs(did, it, identities));
            Some(Change {
                did: did.to_owned(),
                collection: collection.to_owned(),
                rkey: rkey.to_owned(),
                record,
                blobs: blobs.unwrap_or_default(),
                at,
            })
        })
        .collect();
    Some((number, changes))
}

/// Returns the blocks of a CAR archive of version 1, by CID. A block that does not match its CID is
/// left out.
fn blocks(archive: &[u8]) -> Option<BTreeMap<String, Vec<u8>>> {
    let mut rest = archive;
    let mut next = || -> Option<&[u8]> {
        let (length, used) = varint(rest)?;
        let section = rest.get(used..used + length)?;
        rest = rest.get(used + length..)?;
        Some(section)
    };
    next()?;
    let mut found = BTreeMap::new();
    while let Some(section) = next() {
        let (id, block) = section.split_at_checked(36)?;
        let id = cid::text(id);
        if cid::of_cbor(block) == id {
            found.insert(id, block.to_vec());
        }
    }
    Some(found)
}

fn varint(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut number = 0_usize;
    for (index, byte) in bytes.iter().take(9).enumerate() {
        number |= usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((number, index + 1));
        }
    }
    None
}

/// Reads the blobs of a record from the PDS of the record's author.
fn blobs(did: &str, record: &Value, identities: &Identities) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for blob in crate::pds::record::blobs(record) {
        let Some(id) = blob.get("ref").and_then(|it| it["$link"].as_str()) else {
            continue;
        };
        let Some(pds) = identities.pds(did) else {
            continue;
        };
        let url = format!("{pds}/xrpc/com.atproto.sync.getBlob?did={did}&cid={id}");
        if let Ok((200, bytes)) = get_with_retries(&url) {
            found.insert(id.to_owned(), bytes);
        }
    }
    found
}

/// Requests an address, and tries again while its server restarts.
fn get_with_retries(url: &str) -> io::Result<(u16, Vec<u8>)> {
    let end = Instant::now() + CONNECT_TIMEOUT;
    loop {
        let answer = host::get(url);
        if answer.is_ok() || Instant::now() > end {
            return answer;
        }
        std::thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archive_blocks_with_wrong_hash_are_dropped() {
        let block = cbor::encode(&serde_json::json!({ "a": 1 })).unwrap();
        let id = cid::of_cbor(&block);
        let mut archive = vec![1, 0xa0];
        for content in [block.clone(), vec![0xa0]] {
            let section = [cid::bytes(&id).unwrap(), content].concat();
            archive.push(u8::try_from(section.len()).unwrap());
            archive.extend(section);
        }
        let found = blocks(&archive).unwrap();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [(id, block)]);
        assert_eq!(varint(&[0xac, 0x02]), Some((300, 2)));
        assert_eq!(varint(&[0x80]), None);
    }
}
