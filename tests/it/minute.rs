//! One minute worked out by hand: three mounts, two of them of one file system, seven readings, and every
//! datum of the profile `standard` as a literal. Nothing rewrites this file: where it and the code differ, one
//! of the two has a reason to give.

use std::collections::BTreeMap;
use std::time::Duration;

use efsmon::catalog::{OwnFigures, Profile};
use efsmon::minutes::SeriesLimits;
use efsmon::model::{Datum, Moment};
use efsmon::monitor::{Monitor, Settings, State};
use efsmon::source::{Reading, View};

const FS_ONE: &str = "fs-0a1b2c3d4e5f60711";
const FS_TWO: &str = "fs-0123456789abcdef0";

/// 2026-11-30T12:00:00Z.
const NOON: u64 = 1_796_040_000;

/// Milliseconds after noon of each reading: a timer that fires late. Between them lie 9.967, 10.547, 9.461,
/// 10.891, 9.367 and 9.738 s; every reading is within a second of its multiple of 10 s.
const READ_AT_MS: [u64; 7] = [37, 10_004, 20_551, 30_012, 40_903, 50_270, 60_008];

/// What one mount shows at each reading.
struct Counters {
    /// Bytes of file data read from and written to the server: numbers 5 and 6 of `bytes:`.
    payload: [(u64, u64); 7],
    /// Name; requests, transmissions, timeouts, bytes sent, bytes received, queue, rtt, execute, errors.
    operations: [(&'static str, [&'static str; 7]); 5],
}

/// The counters of the first mount of `FS_ONE` at each reading.
#[rustfmt::skip]
const FIRST: Counters = Counters {
    payload: [
        (530_530_304, 683_147_264),
        (546_258_944, 683_147_264),
        (546_258_944, 699_924_480),
        (551_501_824, 716_701_696),
        (556_744_704, 716_701_696),
        (556_744_704, 716_701_696),
        (596_066_304, 716_701_696),
    ],
    operations: [
        ("READ", [
            "4045 4045 0 922260 531000000 809 28310 30842 0",
            "4165 4165 0 949620 546743040 821 29150 31718 0",
            "4165 4165 0 949620 546743040 821 29150 31718 0",
            "4205 4205 0 958740 551990720 825 29400 31976 0",
            "4245 4245 0 967860 557238400 828 29662 32244 0",
            "4245 4245 0 967860 557238400 828 29662 32244 0",
            "4545 4545 0 1036260 596596000 918 32362 35085 0",
        ]),
        ("WRITE", [
            "2606 2607 0 683866520 469080 781 18240 20735 0",
            "2606 2607 0 683866520 469080 781 18240 20735 0",
            "2622 2623 0 700647960 471960 821 18632 21175 0",
            "2638 2639 0 717429400 474840 857 19002 21587 0",
            "2638 2639 0 717429400 474840 857 19002 21587 0",
            "2638 2639 0 717429400 474840 857 19002 21587 0",
            "2638 2639 0 717429400 474840 857 19002 21587 0",
        ]),
        ("COMMIT", [
            "481 481 0 101972 67340 0 3360 3600 0",
            "481 481 0 101972 67340 0 3360 3600 0",
            "483 483 0 102396 67620 0 3378 3618 0",
            "485 485 0 102820 67900 0 3395 3635 0",
            "485 485 0 102820 67900 0 3395 3635 0",
            "485 485 0 102820 67900 0 3395 3635 0",
            "485 485 0 102820 67900 0 3395 3635 0",
        ]),
        ("GETATTR", [
            "12955 12955 0 2694640 3109200 388 13468 14101 0",
            "13005 13005 0 2705040 3121200 389 13523 14159 0",
            "13066 13066 0 2717728 3135840 391 13593 14234 0",
            "13106 13106 0 2726048 3145440 392 13634 14277 0",
            "13139 13139 0 2732912 3153360 392 13670 14314 0",
            "13168 13168 0 2738944 3160320 392 13700 14345 0",
            "13239 13239 0 2753712 3177360 395 13780 14430 0",
        ]),
        ("SEQUENCE", [
            "1303 1306 0 166784 198056 39 1384 1439 0",
            "1304 1307 0 166912 198208 39 1385 1440 0",
            "1304 1307 0 166912 198208 39 1385 1440 0",
            "1304 1307 0 166912 198208 39 1385 1440 0",
            "1305 1308 0 167040 198360 39 1386 1441 0",
            "1305 1308 0 167040 198360 39 1386 1441 0",
            "1305 1308 0 167040 198360 39 1386 1441 0",
        ]),
    ],
};

/// The counters of the second mount of `FS_ONE` at each reading.
#[rustfmt::skip]
const SECOND: Counters = Counters {
    payload: [
        (315_392, 900),
        (356_352, 900),
        (458_752, 900),
        (458_752, 1_200),
        (458_752, 1_200),
        (458_752, 1_200),
        (479_232, 1_200),
    ],
    operations: [
        ("READ", [
            "77 77 0 17556 324632 0 150 160 0",
            "87 87 0 19836 366792 0 170 182 0",
            "112 113 0 25764 472192 0 225 240 0",
            "112 113 0 25764 472192 0 225 240 0",
            "112 113 0 25764 472192 0 225 240 0",
            "112 113 0 25764 472192 0 225 240 0",
            "117 118 0 26904 493272 0 234 250 0",
        ]),
        ("WRITE", [
            "9 9 0 3276 1620 0 60 66 0",
            "9 9 0 3276 1620 0 60 66 0",
            "9 9 0 3276 1620 0 60 66 0",
            "12 12 0 4368 2160 0 80 87 0",
            "12 12 0 4368 2160 0 80 87 0",
            "12 12 0 4368 2160 0 80 87 0",
            "12 12 0 4368 2160 0 80 87 0",
        ]),
        ("COMMIT", [
            "3 3 0 636 420 0 20 20 0",
            "3 3 0 636 420 0 20 20 0",
            "3 3 0 636 420 0 20 20 0",
            "3 3 0 636 420 0 20 20 0",
            "3 3 0 636 420 0 20 20 0",
            "3 3 0 636 420 0 20 20 0",
            "3 3 0 636 420 0 20 20 0",
        ]),
        ("GETATTR", [
            "900 900 0 187200 216000 2 910 940 0",
            "905 905 0 188240 217200 2 915 945 0",
            "910 910 0 189280 218400 2 921 951 0",
            "915 915 0 190320 219600 2 926 956 0",
            "920 920 0 191360 220800 2 931 961 0",
            "925 925 0 192400 222000 2 936 966 0",
            "930 930 0 193440 223200 2 942 973 0",
        ]),
        ("SEQUENCE", [
            "1303 1306 0 166784 198056 39 1384 1439 0",
            "1304 1307 0 166912 198208 39 1385 1440 0",
            "1304 1307 0 166912 198208 39 1385 1440 0",
            "1304 1307 0 166912 198208 39 1385 1440 0",
            "1305 1308 0 167040 198360 39 1386 1441 0",
            "1305 1308 0 167040 198360 39 1386 1441 0",
            "1305 1308 0 167040 198360 39 1386 1441 0",
        ]),
    ],
};

/// The counters of the mount of `FS_TWO` at each reading.
#[rustfmt::skip]
const OTHER: Counters = Counters {
    payload: [
        (0, 4_587_520),
        (0, 4_587_520),
        (0, 4_587_520),
        (0, 4_587_520),
        (0, 4_587_520),
        (0, 5_046_272),
        (0, 5_046_272),
    ],
    operations: [
        ("READ", [
            "0 0 0 0 0 0 0 0 0",
            "0 0 0 0 0 0 0 0 0",
            "0 0 0 0 0 0 0 0 0",
            "0 0 0 0 0 0 0 0 0",
            "0 0 0 0 0 0 0 0 0",
            "0 0 0 0 0 0 0 0 0",
            "0 0 0 0 0 0 0 0 0",
        ]),
        ("WRITE", [
            "70 70 0 4606000 12600 0 700 770 0",
            "70 70 0 4606000 12600 0 700 770 0",
            "70 70 0 4606000 12600 0 700 770 0",
            "70 70 0 4606000 12600 0 700 770 0",
            "70 70 0 4606000 12600 0 700 770 0",
            "77 77 0 5066600 13860 0 770 847 0",
            "77 77 0 5066600 13860 0 770 847 0",
        ]),
        ("COMMIT", [
            "10 10 0 2120 1400 0 90 90 0",
            "10 10 0 2120 1400 0 90 90 0",
            "10 10 0 2120 1400 0 90 90 0",
            "10 10 0 2120 1400 0 90 90 0",
            "10 10 0 2120 1400 0 90 90 0",
            "11 11 0 2332 1540 0 99 99 0",
            "11 11 0 2332 1540 0 99 99 0",
        ]),
        ("GETATTR", [
            "12 12 0 2496 2880 0 12 15 0",
            "12 12 0 2496 2880 0 12 15 0",
            "12 12 0 2496 2880 0 12 15 0",
            "13 13 0 2704 3120 0 13 17 0",
            "13 13 0 2704 3120 0 13 17 0",
            "13 13 0 2704 3120 0 13 17 0",
            "13 13 0 2704 3120 0 13 17 0",
        ]),
        ("SEQUENCE", [
            "800 800 0 102400 121600 0 820 830 0",
            "801 801 0 102528 121752 0 821 831 0",
            "801 801 0 102528 121752 0 821 831 0",
            "801 801 0 102528 121752 0 821 831 0",
            "801 801 0 102528 121752 0 821 831 0",
            "801 801 0 102528 121752 0 821 831 0",
            "802 802 0 102656 121904 0 822 832 0",
        ]),
    ],
};

/// A record of mountstats.
fn record(device: &str, mount_point: &str, age: u64, counters: &Counters, reading: usize) -> String {
    let (read, written) = counters.payload[reading];
    let mut text = format!(
        "device {device} mounted on {mount_point} with fstype nfs4 statvers=1.1\n\
         \topts:\trw,vers=4.1,rsize=1048576,wsize=1048576,hard,noresvport,proto=tcp,timeo=600,retrans=2\n\
         \tage:\t{age}\n\
         \tcaps:\tcaps=0x3ffdf,wtmult=512,dtsize=1048576,bsize=0,namlen=255\n\
         \tsec:\tflavor=1,pseudoflavor=1\n\
         \tevents:\t0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 \n\
         \tbytes:\t{read} {written} 0 0 {read} {written} 0 0 \n\
         \tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n\
         \txprt:\ttcp 0 0 1 0 13 39702 39702 0 79404 0 32 13234 19851\n\
         \tper-op statistics\n\
         \t        NULL: 1 1 0 44 24 0 0 0 0\n"
    );
    for (name, rows) in &counters.operations {
        text.push_str(&format!("\t{name:>12}: {}\n", rows[reading]));
    }
    text + "\n"
}

fn reading(index: usize) -> Reading {
    let one = format!("{FS_ONE}.efs.eu-west-1.amazonaws.com:/");
    let other = format!("{FS_TWO}.efs.eu-west-1.amazonaws.com:/");
    let mountinfo = format!(
        "31 1 259:1 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p1 rw\n\
         60 31 0:52 / /mnt/efs rw,relatime shared:30 - nfs4 {one} rw,vers=4.1,addr=10.20.31.7\n\
         61 31 0:53 / /srv/app rw,relatime shared:31 - nfs4 {one}app rw,vers=4.1,addr=10.20.31.7\n\
         62 31 0:60 / /data rw,relatime shared:32 - nfs4 {other} rw,vers=4.1,addr=10.20.31.8\n"
    );
    let age = READ_AT_MS[index] / 1000;
    let mountstats = "device /dev/nvme0n1p1 mounted on / with fstype ext4\n".to_owned()
        + &record(&one, "/mnt/efs", 86_400 + age, &FIRST, index)
        + &record(&format!("{one}app"), "/srv/app", 7_000 + age, &SECOND, index)
        + &record(&other, "/data", 500 + age, &OTHER, index);
    let at = Duration::from_millis(READ_AT_MS[index]);
    Reading {
        moment: Moment { wall: Duration::from_secs(NOON) + at, monotonic: Duration::from_secs(90_000) + at },
        view: View::Init,
        mountinfo_before: mountinfo.clone().into_bytes(),
        mountstats: mountstats.into_bytes(),
        mountinfo_after: mountinfo.into_bytes(),
    }
}

/// Metric and dimensions.
type Series = (String, String);

/// Unit, and each value with its count, from the smallest value.
type Figures = (String, Vec<(f64, f64)>);

/// The data of one minute; every series has one datum.
fn by_series(data: &[Datum], minute: u64) -> BTreeMap<Series, Figures> {
    let mut all = BTreeMap::new();
    for datum in data {
        assert_eq!(datum.timestamp.seconds(), i64::try_from(minute).unwrap(), "{datum:?}");
        assert_eq!(datum.values.len(), datum.counts.len(), "{datum:?}");
        let dimensions = datum.dimensions.iter().map(|dimension| {
            format!("{}={}", dimension.name, dimension.value.as_deref().unwrap_or("(this host)"))
        });
        let series = (datum.metric.to_string(), dimensions.collect::<Vec<_>>().join(" "));
        let mut figures: Vec<_> = datum.values.iter().copied().zip(datum.counts.iter().copied()).collect();
        figures.sort_by(|one, other| one.0.total_cmp(&other.0));
        let earlier = all.insert(series, (datum.unit.name().to_owned(), figures));
        assert_eq!(earlier, None, "two data of {}", datum.metric);
    }
    all
}

/// `scope` is `fleet`, or for a file system's figures `ID` or `ID client`, or `ID both` for these two.
type Expected<'a> = (&'a str, &'a str, &'a str, &'a [(f64, f64)]);

#[track_caller]
fn assert_data(data: &[Datum], minute: u64, expected: &[Expected<'_>]) {
    let mut wanted = BTreeMap::new();
    for (metric, scope, unit, figures) in expected {
        let (id, scope) = scope.split_once(' ').unwrap_or((scope, "file system"));
        let alone = format!("FileSystemId={id}");
        let client = format!("FileSystemId={id} InstanceId=(this host)");
        let dimensions = match (id, scope) {
            ("fleet", _) => vec![String::new()],
            (_, "file system") => vec![alone],
            (_, "client") => vec![client],
            (_, "both") => vec![alone, client],
            _ => panic!("{scope}: no such scope"),
        };
        for dimensions in dimensions {
            wanted.insert(((*metric).to_owned(), dimensions), ((*unit).to_owned(), figures.to_vec()));
        }
    }
    let found = by_series(data, minute);
    let names = |all: &BTreeMap<Series, Figures>| all.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(&wanted));
    for (series, (unit, figures)) in &wanted {
        let (found_unit, found) = &found[series];
        assert_eq!(found_unit, unit, "{series:?}");
        assert_eq!(found.len(), figures.len(), "{series:?}: found {found:?}, expected {figures:?}");
        for ((value, count), (wanted_value, wanted_count)) in found.iter().zip(figures) {
            let near = (value - wanted_value).abs() <= wanted_value.abs() * 1e-12;
            assert!(near, "{series:?}: found {found:?}, expected {figures:?}");
            assert_eq!(count, wanted_count, "{series:?}: found {found:?}, expected {figures:?}");
        }
    }
}

#[test]
fn one_minute_of_three_mounts_is_what_was_worked_out_by_hand() {
    let settings = Settings {
        sample_interval: Duration::from_secs(10),
        series: SeriesLimits::new(Profile::Standard, 50),
        mounts: Vec::new(),
        stall_after: Duration::from_secs(30),
    };
    let mut monitor = Monitor::new(settings, State::default());
    monitor.observe(&reading(0), Vec::new);

    // Before the first reading there was nobody to say anything of the minute before.
    let own = OwnFigures::default();
    assert_eq!(monitor.close(&own), []);

    for index in 1..6 {
        monitor.observe(&reading(index), Vec::new);
        assert_eq!(monitor.close(&own), [], "the minute is not over at reading {index}");
    }
    monitor.observe(&reading(6), Vec::new);
    let own = OwnFigures { unidentified_mounts: 2, samples_lost: 3, unknown_outcomes: 1 };
    assert_data(&monitor.close(&own), NOON, EXPECTED);
    assert_eq!(monitor.close(&own), [], "a minute is published once");
}

/// Everything that is published of the minute that begins at noon.
#[rustfmt::skip]
const EXPECTED: &[Expected<'_>] = &[
    ("Hosts", "fleet", "Count", &[(1.0, 1.0)]),
    ("UnidentifiedMounts", "fleet", "Count", &[(2.0, 1.0)]),
    ("SamplesLost", "fleet", "Count", &[(3.0, 1.0)]),
    ("UnknownOutcomes", "fleet", "Count", &[(1.0, 1.0)]),

    // FS_ONE: the first and the second mount together. SEQUENCE, which both show, counts nowhere.

    // READ bytes of the six samples, sent + received:
    //   first   27,360 + 15,743,040 = 15,770,400        0   9,120 + 5,247,680 = 5,256,800   5,256,800   0   68,400 + 39,357,600 = 39,426,000
    //   second   2,280 +     42,160 =     44,440  5,928 + 105,400 = 111,328   0                     0   0    1,140 +     21,080 =     22,220
    //   both    15,814,840   111,328   5,256,800   5,256,800   0   39,448,220     together 65,887,988
    // (In the second sample the second mount sent one of 25 requests twice: 26 x 228 = 5,928.)
    ("ReadBytes", "fs-0a1b2c3d4e5f60711 both", "Bytes", &[(65_887_988.0, 1.0)]),
    // WRITE: first 16,781,440 + 2,880 = 16,784,320 in samples 2 and 3; second 1,092 + 540 = 1,632 in sample 3.
    ("WriteBytes", "fs-0a1b2c3d4e5f60711 both", "Bytes", &[(33_570_272.0, 1.0)]),
    // Read payload: 500 x 131,072 + 40 x 4,096 = 65,699,840; a third of it is 21,899,946, more than 540 x 4,096.
    // Written: 32 x 1,048,576 + 3 x 100 = 33,554,732, more than 35 x 4,096. 4 COMMIT and 314 GETATTR: 318 x 4,096
    // = 1,302,528. 21,899,946 + 33,554,732 + 1,302,528 = 56,757,206.
    ("MeteredEstimate", "fs-0a1b2c3d4e5f60711 both", "Bytes", &[(56_757_206.0, 1.0)]),
    // 120 + 40 + 40 + 300 = 500 and 10 + 25 + 5 = 40.
    ("ReadOperations", "fs-0a1b2c3d4e5f60711 both", "Count", &[(540.0, 1.0)]),
    // 16 + 16 and 3.
    ("WriteOperations", "fs-0a1b2c3d4e5f60711 both", "Count", &[(35.0, 1.0)]),
    // GETATTR: 50 + 61 + 40 + 33 + 29 + 71 = 284 and 6 x 5 = 30.
    ("MetadataOperations", "fs-0a1b2c3d4e5f60711 both", "Count", &[(314.0, 1.0)]),
    ("Clients", "fs-0a1b2c3d4e5f60711", "Count", &[(1.0, 1.0)]),
    // (876 + 22) / 130, 58 / 25, 258 / 40, 268 / 40, none, (2,841 + 10) / 305.
    ("ReadLatency", "fs-0a1b2c3d4e5f60711 both", "Milliseconds", &[
        (2.32, 25.0), (6.45, 40.0), (6.7, 40.0), (6.907_692_307_692_308, 130.0), (9.347_540_983_606_557, 305.0),
    ]),
    // 440 / 16, (412 + 21) / 19.
    ("WriteLatency", "fs-0a1b2c3d4e5f60711 both", "Milliseconds", &[(22.789_473_684_210_527, 19.0), (27.5, 16.0)]),
    // (58 + 5) / 55, (75 + 6) / 66, (43 + 5) / 45, (37 + 5) / 38, (31 + 5) / 34, (85 + 7) / 76.
    ("MetadataLatency", "fs-0a1b2c3d4e5f60711 both", "Milliseconds", &[
        (1.058_823_529_411_764_7, 34.0), (1.066_666_666_666_666_7, 45.0), (1.105_263_157_894_736_8, 38.0),
        (1.145_454_545_454_545_4, 55.0), (1.210_526_315_789_473_7, 76.0), (1.227_272_727_272_727_3, 66.0),
    ]),
    // Six samples, and every mount was answered in each.
    ("MountStalled", "fs-0a1b2c3d4e5f60711 both", "Count", &[(0.0, 6.0)]),
    // 15,814,840 / 9.967, 111,328 / 10.547, 5,256,800 / 9.461, 5,256,800 / 10.891, 0 / 9.367, 39,448,220 / 9.738,
    // each / 1,048,576: over the time that passed, but each stands for 10 of the minute's seconds.
    ("ReadThroughput", "fs-0a1b2c3d4e5f60711 client", "None", &[
        (0.0, 10.0), (0.010_066_431_620_069_687, 10.0), (0.460_313_575_106_452_6, 10.0),
        (0.529_888_505_071_808, 10.0), (1.513_214_279_730_532_6, 10.0), (3.863_293_719_649_143_5, 10.0),
    ]),
    // 16,784,320 / 10.547 and 16,785,952 / 9.461; four samples without a WRITE are one value.
    ("WriteThroughput", "fs-0a1b2c3d4e5f60711 client", "None", &[
        (0.0, 40.0), (1.517_661_411_049_943_1, 10.0), (1.692_033_748_951_286_9, 10.0),
    ]),

    // FS_TWO: 7 WRITEs of 64 KiB and a COMMIT in the fifth sample, one GETATTR in the third.
    ("ReadBytes", "fs-0123456789abcdef0 both", "Bytes", &[(0.0, 1.0)]),
    // 460,600 + 1,260.
    ("WriteBytes", "fs-0123456789abcdef0 both", "Bytes", &[(461_860.0, 1.0)]),
    // 7 x 65,536 = 458,752, and 4,096 each for COMMIT and GETATTR.
    ("MeteredEstimate", "fs-0123456789abcdef0 both", "Bytes", &[(466_944.0, 1.0)]),
    ("ReadOperations", "fs-0123456789abcdef0 both", "Count", &[(0.0, 1.0)]),
    ("WriteOperations", "fs-0123456789abcdef0 both", "Count", &[(7.0, 1.0)]),
    ("MetadataOperations", "fs-0123456789abcdef0 both", "Count", &[(1.0, 1.0)]),
    ("Clients", "fs-0123456789abcdef0", "Count", &[(1.0, 1.0)]),
    // 77 / 7; there was no READ, so there is no ReadLatency.
    ("WriteLatency", "fs-0123456789abcdef0 both", "Milliseconds", &[(11.0, 7.0)]),
    ("MetadataLatency", "fs-0123456789abcdef0 both", "Milliseconds", &[(2.0, 1.0)]),
    // Idle, but not stalled.
    ("MountStalled", "fs-0123456789abcdef0 both", "Count", &[(0.0, 6.0)]),
    ("ReadThroughput", "fs-0123456789abcdef0 client", "None", &[(0.0, 60.0)]),
    // 461,860 / 9.367 / 1,048,576.
    ("WriteThroughput", "fs-0123456789abcdef0 client", "None", &[(0.0, 50.0), (0.047_022_955_031_001_45, 10.0)]),
];
