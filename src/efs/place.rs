//! What a mount point tells of who mounted there: paths that orchestrators and container runtimes make up, which come
//! and go with every pod and task, and are no names to publish.

/// Who a mount point belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// A person chose it.
    Plain,
    /// A volume that kubelet mounted (Kubernetes, `pkg/volume/util` and `pkg/kubelet`): below `pods/UID/volumes` or
    /// `pods/UID/volume-subpaths` of a pod, below `plugins` of the node.
    Kubelet { pod: Option<&'a str>, volume: Option<&'a str> },
    /// A volume of the Amazon ECS volume plugin, `/var/lib/ecs/volumes/NAME`.
    Ecs { volume: &'a str },
    /// The inside of a container as its runtime sees it.
    Runtime,
}

/// Folders in which container runtimes put the root and the volumes of their containers.
const RUNTIMES: [&str; 10] = [
    "/run/containerd/",
    "/var/run/containerd/",
    "/run/k3s/",
    "/var/lib/containerd/",
    "/var/lib/containers/",
    "/run/containers/",
    "/run/crio/",
    "/var/lib/docker/",
    "/run/docker/",
    "/var/run/docker/",
];

/// The same below the home of a user whose containers need no root.
const HOME_RUNTIMES: [&str; 2] = ["/.local/share/containers/", "/.local/share/docker/"];

impl<'a> Place<'a> {
    /// What `mount_point` is, written without octal escapes. kubelet's root may be any folder.
    pub fn of(mount_point: &'a str) -> Place<'a> {
        if let Some(place) = Place::of_pod(mount_point).or_else(|| Place::of_plugin(mount_point)) {
            return place;
        }
        if let Some(volume) =
            mount_point.strip_prefix("/var/lib/ecs/volumes/").filter(|name| !name.is_empty())
        {
            return Place::Ecs { volume };
        }
        let runtimes = RUNTIMES.iter().any(|folder| mount_point.starts_with(folder))
            || HOME_RUNTIMES.iter().any(|folder| mount_point.contains(folder));
        match mount_point.split('/').any(|part| part == "kubelet") {
            true => Place::Kubelet { pod: None, volume: None },
            false if runtimes => Place::Runtime,
            false => Place::Plain,
        }
    }

    /// Whether it may stand in a dimension: no path that is made up anew with every pod or task.
    pub fn is_lasting(&self) -> bool {
        *self == Place::Plain
    }

    /// `ROOT/pods/UID/volumes/DRIVER/VOLUME/mount`, or `ROOT/pods/UID/volume-subpaths/VOLUME/CONTAINER/NUMBER`. Inside
    /// of a container `ROOT` is whatever it is mounted at.
    fn of_pod(mount_point: &'a str) -> Option<Place<'a>> {
        mount_point.match_indices("/pods/").find_map(|(at, folder)| {
            let mut parts = mount_point.get(at + folder.len()..)?.split('/');
            let pod = parts.next().filter(|uid| is_uid(uid))?;
            let volume = match parts.next()? {
                "volumes" => parts.nth(1),
                "volume-subpaths" => parts.next(),
                _ => return None,
            };
            Some(Place::Kubelet { pod: Some(pod), volume: volume.filter(|name| !name.is_empty()) })
        })
    }

    /// `ROOT/plugins/kubernetes.io/csi/DRIVER/HASH/globalmount` and its kin: of the node, for all pods.
    fn of_plugin(mount_point: &'a str) -> Option<Place<'a>> {
        let (_, rest) = mount_point.split_once("/plugins/kubernetes.io/")?;
        let volume = rest.strip_suffix("/globalmount").and_then(|rest| rest.rsplit('/').next());
        Some(Place::Kubelet { pod: None, volume })
    }
}

/// A pod's UID is a UUID; that of a static pod is a hash of 32 digits (Kubernetes, `pkg/kubelet/config`).
fn is_uid(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_hexdigit).count();
    let dashes: Vec<usize> = text.match_indices('-').map(|(at, _)| at).collect();
    digits == 32 && digits + dashes.len() == text.len() && (dashes.is_empty() || dashes == [8, 13, 18, 23])
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD: &str = "0b6f5c0e-6c5c-4c34-9a3c-6a9d3c0f1e29";

    fn check(mount_point: &str, expected: Place<'_>) {
        let mount_point = mount_point.replace("POD", POD);
        assert_eq!(Place::of(&mount_point), expected, "{mount_point}");
        assert_eq!(Place::of(&mount_point).is_lasting(), expected == Place::Plain);
    }

    #[test]
    fn a_volume_of_a_pod_tells_the_pod_and_the_volume() {
        let pvc = Place::Kubelet { pod: Some(POD), volume: Some("pvc-29") };
        check("/var/lib/kubelet/pods/POD/volumes/kubernetes.io~csi/pvc-29/mount", pvc);
        check("/var/lib/kubelet/pods/POD/volumes/kubernetes.io~nfs/pvc-29", pvc);
        check("/var/lib/kubelet/pods/POD/volume-subpaths/pvc-29/app/0", pvc);
        // Another root, and the node's root as a container sees it.
        check("/mnt/disk/kubelet/pods/POD/volumes/kubernetes.io~csi/pvc-29/mount", pvc);
        check("/host/var/lib/kubelet/pods/POD/volumes/kubernetes.io~csi/pvc-29/mount", pvc);
        check("/data/pods/x/pods/POD/volumes/kubernetes.io~csi/pvc-29/mount", pvc);
        check("/var/lib/kubelet/pods/POD/volumes", Place::Kubelet { pod: Some(POD), volume: None });
        check(
            "/var/lib/kubelet/pods/3f2504e04f8911d39a0c0305e82c3301/volumes/kubernetes.io~csi/a b/mount",
            Place::Kubelet { pod: Some("3f2504e04f8911d39a0c0305e82c3301"), volume: Some("a b") },
        );
    }

    #[test]
    fn a_volume_of_the_node_tells_no_pod() {
        check(
            "/var/lib/kubelet/plugins/kubernetes.io/csi/efs.csi.aws.com/1f0e2d/globalmount",
            Place::Kubelet { pod: None, volume: Some("1f0e2d") },
        );
        check(
            "/var/lib/kubelet/plugins/kubernetes.io/csi/pv/pvc-29/globalmount",
            Place::Kubelet { pod: None, volume: Some("pvc-29") },
        );
        check(
            "/var/lib/kubelet/plugins/kubernetes.io/nfs/mounts/x",
            Place::Kubelet { pod: None, volume: None },
        );
        check("/var/lib/kubelet/plugins/efs.csi.aws.com/x", Place::Kubelet { pod: None, volume: None });
    }

    #[test]
    fn what_ecs_and_container_runtimes_mount_is_no_persons_path() {
        check(
            "/var/lib/ecs/volumes/ecs-app-7-data-e2b1c4d3",
            Place::Ecs { volume: "ecs-app-7-data-e2b1c4d3" },
        );
        for path in [
            "/run/containerd/io.containerd.runtime.v2.task/k8s.io/3f2504e0/rootfs/data",
            "/var/lib/docker/volumes/efs/_data",
            "/run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/3f2504e0/rootfs/data",
            "/var/lib/containers/storage/overlay/3f2504e0/merged/data",
            "/home/ann/.local/share/containers/storage/volumes/efs/_data",
        ] {
            check(path, Place::Runtime);
        }
    }

    #[test]
    fn a_persons_path_stays_one() {
        for path in [
            "/",
            "/mnt/efs",
            "/srv/pods/web/volumes/data",
            "/srv/pods/POD/data",
            "/pods/0b6f5c0e-6c5c-4c34-9a3c-6a9d3c0f1e2/volumes/x/y",
            "/pods/0b6f5c0e6c5c-4c34-9a3c-6a9d3c0f1e29/volumes/x/y",
            "/var/lib/ecs/volumes/",
            "/var/lib/ecs/data",
            "/var/lib/dockerfiles",
            "/srv/plugins/kubernetes.io",
            "",
        ] {
            check(path, Place::Plain);
        }
    }
}
