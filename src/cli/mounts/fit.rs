//! Fits names and texts into the columns that a terminal has.

use crate::efs::Place;

/// Stands for what was left out of a name.
const CUT: &str = "..";

/// A mount point in at most `width` characters. Of a pod's volume the start of the pod's UID and the volume are kept,
/// for that is what to ask the cluster for; of other names the start and the end.
pub fn shortened(mount_point: &str, width: usize) -> String {
    if mount_point.chars().count() <= width {
        return mount_point.to_owned();
    }
    let Place::Kubelet { pod: Some(pod), volume: Some(volume) } = Place::of(mount_point) else {
        return cut_in_the_middle(mount_point, width);
    };
    // Part of a volume: `volume-subpaths/VOLUME/CONTAINER/NUMBER`.
    let volume = mount_point.split_once("/volume-subpaths/").map_or(volume, |(_, part)| part);
    let pod: String = pod.chars().take(8).collect();
    let start = format!("pod {pod}{CUT} ");
    let left = width.saturating_sub(start.chars().count());
    start + &cut_in_the_middle(volume, left)
}

/// A text in at most `width` characters: its start and its end.
pub fn cut_in_the_middle(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let left = width.saturating_sub(CUT.len());
    let start: String = text.chars().take(left / 2).collect();
    let end: String = text.chars().skip(length - (left - left / 2)).collect();
    start + CUT + &end
}

/// A text as lines of at most `width` characters, broken at spaces; a word that is longer has a line for itself.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_fits_stays_whole() {
        assert_eq!(shortened("/mnt/efs", 8), "/mnt/efs");
        let volume = "/pods/0b6f5c0e-6c5c-4c34-9a3c-6a9d3c0f1e29/volumes/x/y";
        assert_eq!(shortened(volume, volume.len()), volume);
    }

    #[test]
    fn a_long_name_keeps_its_start_and_its_end() {
        assert_eq!(shortened("/mnt/a-very-long-name/data", 14), "/mnt/a..e/data");
        assert_eq!(shortened("/mnt/dünn/überlang/ende", 13), "/mnt/..g/ende");
        assert_eq!(shortened("/mnt/efs", 2), "..");
    }

    #[test]
    fn of_a_pods_volume_the_uid_and_the_volume_are_kept() {
        let check = |path: &str, width, expected| {
            let path = format!("/var/lib/kubelet/pods/0b6f5c0e-6c5c-4c34-9a3c-6a9d3c0f1e29/{path}");
            assert_eq!(shortened(&path, width), expected);
        };
        check("volumes/kubernetes.io~csi/pvc-8d1e/mount", 60, "pod 0b6f5c0e.. pvc-8d1e");
        check("volume-subpaths/pvc-8d1e/app/0", 60, "pod 0b6f5c0e.. pvc-8d1e/app/0");
        let volume = "volumes/kubernetes.io~csi/pvc-0d5c1e2f-7a0b-4d53-8a9e-5b1f0c2d3e4f/mount";
        check(volume, 40, "pod 0b6f5c0e.. pvc-0d5c1e2..5b1f0c2d3e4f");
    }

    #[test]
    fn a_text_is_broken_at_spaces() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("one twothreefour five", 6), ["one", "twothreefour", "five"]);
        assert_eq!(wrapped("one", 80), ["one"]);
    }
}
