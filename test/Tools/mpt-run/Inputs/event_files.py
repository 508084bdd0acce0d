"""Reads TensorBoard's event files with nothing but Python, and compares them with a run's
metrics.

  event_files.py DIRECTORY METRICS.jsonl [HISTOGRAMS]

Every record has its length's and its data's CRC. The scalars are those of the metrics, after
what a resumed run takes back has been forgotten, as TensorBoard does. HISTOGRAMS is the number
of histograms that there are at the last step that has some.
"""
import json
import pathlib
import struct
import sys


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


assert crc32c(b"123456789") == 0xe3069283  # RFC 3720's check value


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def records(data):
    while data:
        size, crc = struct.unpack("<QI", data[:12])
        assert crc == masked(data[:8])
        body, (crc,) = data[12:12 + size], struct.unpack("<I", data[12 + size:16 + size])
        assert crc == masked(body)
        yield body
        data = data[16 + size:]


def fields(message):
    """(number, value) of each field: numbers, or the bytes of what has a length."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        kind = key & 7
        if kind == 0:
            value = varint()
        elif kind == 2:
            size = varint()
            value = message[at:at + size]
            at += size
        else:
            size, code = {1: (8, "<d"), 5: (4, "<f")}[kind]
            value, = struct.unpack(code, message[at:at + size])
            at += size
        yield key >> 3, value


scalars, histograms = {}, {}
for path in sorted(pathlib.Path(sys.argv[1]).glob("events.out.tfevents.*")):
    for number, record in enumerate(records(path.read_bytes())):
        event = dict(fields(record))
        assert event[1] > 1.6e9  # seconds
        step = event.get(2, 0)
        if number == 0:
            assert event[3] == b"brain.Event:2"
            continue
        if 7 in event:  # a session starts: what is later is forgotten
            assert dict(fields(event[7])) == {1: 1}
            for table in scalars, histograms:
                for key in [key for key in table if key[1] >= step]:
                    del table[key]
            continue
        for _, value in fields(event[5]):
            value = dict(fields(value))
            tag = value[1].decode()
            if 5 in value:
                histograms[tag, step] = dict(fields(value[5]))
            else:
                assert (tag, step) not in scalars, (tag, step)
                scalars[tag, step] = value[2]

wanted = {}
for line in open(sys.argv[2]):
    record = json.loads(line)
    for name, value in record.items():
        if name in ("step", "run"):
            continue
        tag = "eval/" + name[5:] if name.startswith("eval.") else name
        wanted[tag, record["step"]] = struct.unpack("<f", struct.pack("<f", float(value)))[0]
assert scalars.keys() == wanted.keys(), scalars.keys() ^ wanted.keys()
for key, value in wanted.items():
    assert scalars[key] == value or value != value, (key, scalars[key], value)

if len(sys.argv) > 3:
    last = max(step for _, step in histograms)
    found = {tag: h for (tag, step), h in histograms.items() if step == last}
    assert len(found) == int(sys.argv[3]), sorted(found)
    for tag, histogram in found.items():
        limits = struct.unpack("<%dd" % (len(histogram[6]) // 8), histogram[6])
        counts = struct.unpack("<%dd" % (len(histogram[7]) // 8), histogram[7])
        assert tag.startswith("log2/") and len(limits) == len(counts) > 1
        assert sorted(set(limits)) == list(limits) and min(counts) >= 0
        assert sum(counts) == histogram[3] > 0
        least = next(limit for limit, count in zip(limits, counts) if count)
        most = [limit for limit, count in zip(limits, counts) if count][-1]
        assert histogram[1] <= least and histogram[1] <= histogram[2] <= most, (tag, histogram)
        assert histogram[1] <= histogram[4] / histogram[3] <= histogram[2]
        assert histogram[5] * histogram[3] >= histogram[4] ** 2 * (1 - 1e-9)
print(len(scalars), "scalars", len(histograms), "histograms")
