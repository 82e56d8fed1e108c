/// x
#[derive(Debug)] pub struct Hosts;
