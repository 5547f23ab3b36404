//! What NFS mount options mean for a mount of EFS, beside those that the EFS user guide recommends ("Mount
//! settings"): `nfsvers=4.1,rsize=1048576,wsize=1048576,hard,timeo=600,retrans=2,noresvport`.

use crate::efs::option;

/// What reads and writes can carry at most.
const LARGEST: u64 = 1_048_576;
/// Tenths of a second.
const TIMEO: u64 = 600;
const RETRANS: u64 = 2;

/// The options of an `opts:` line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options<'a>(pub &'a [u8]);

impl<'a> Options<'a> {
    fn has(self, name: &str) -> bool {
        self.0.split(|byte| *byte == b',').any(|option| option == name.as_bytes())
    }

    fn value(self, name: &str) -> Option<&'a str> {
        option(self.0, name)
    }

    fn number(self, name: &str) -> Option<u64> {
        self.value(name)?.parse().ok()
    }

    pub fn soft(self) -> Option<String> {
        let soft = ["soft", "softerr"].into_iter().find(|name| self.has(name))?;
        Some(format!(
            "{soft}: when the server is slow to answer, programs get errors and writes may be lost; mount with hard"
        ))
    }

    pub fn version(self) -> Option<String> {
        // Before Linux 3.5 a minor version stands by itself.
        let version = match (self.value("vers")?, self.number("minorversion")) {
            ("4", Some(minor)) => format!("4.{minor}"),
            (version, _) => version.to_owned(),
        };
        match version.as_str() {
            "4.1" => None,
            "4.0" | "4" => Some(format!(
                "vers={version}: NFS 4.1 reads small files many times as fast; mount with nfsvers=4.1"
            )),
            _ => Some(format!("vers={version}: EFS offers NFS 4.0 and 4.1; mount with nfsvers=4.1")),
        }
    }

    pub fn size(self, name: &str) -> Option<String> {
        let size = self.number(name).filter(|size| *size < LARGEST)?;
        Some(format!(
            "{name}={size}: large files take more requests than they need to; mount with {name}={LARGEST}"
        ))
    }

    pub fn timeo(self) -> Option<String> {
        let timeo = self.number("timeo").filter(|timeo| *timeo < TIMEO)?;
        Some(format!(
            "timeo={timeo}: a request is repeated after {} s, while a busy server may still answer it; mount with \
             timeo={TIMEO}",
            timeo as f64 / 10.0
        ))
    }

    pub fn retrans(self) -> Option<String> {
        let retrans = self.number("retrans").filter(|retrans| *retrans != RETRANS)?;
        Some(format!("retrans={retrans}: EFS recommends retrans={RETRANS}"))
    }

    pub fn reserved_port(self) -> Option<String> {
        (!self.has("noresvport")).then(|| {
            "without noresvport a connection that broke is made anew from its old port, which may fail for minutes; \
             mount with noresvport"
                .to_owned()
        })
    }

    pub fn caching(self) -> Option<String> {
        let zero = |name: &&&str| self.number(name) == Some(0);
        let option = match self.value("lookupcache") {
            _ if self.has("noac") => "noac".to_owned(),
            Some(part) if part != "all" => format!("lookupcache={part}"),
            _ => format!("{}=0", ["actimeo", "acregmax", "acdirmax"].iter().find(zero)?),
        };
        Some(format!("{option}: the server is asked again for what was known a moment ago; mount without it"))
    }
}
