"""Text between blanks: squeezed as the parser wants it."""

from ccassg.io.whitespace import squeeze


def test_squeeze():
    assert squeeze(b"  a \t b  \r\n# x\n%y\n\n c d\n") == b"a b\n\nc d"
    assert squeeze(b"# x\n  % y") == squeeze(b" \t\n") == b""
    lines = [b"\t%d  %d \n" % (i, i) if i % 3 else b" # %d\n" % i for i in range(300_000)]
    assert squeeze(b"".join(lines)) == b"\n".join(b"%d %d" % (i, i) for i in range(300_000) if i % 3)
