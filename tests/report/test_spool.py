from pipeline.report.spool import Spool


def test_values_come_back_in_order_to_several_readers_at_once() -> None:
    spool = Spool()
    values = [{"a": "松果\n\u2028\ud800", "b": [1.5, None]}, [], "x"]
    for value in values:
        spool.append(value)
    first, second = iter(spool), iter(spool)
    assert next(first) == values[0]
    assert list(second) == values
    assert list(first) == values[1:]
    assert list(spool) == values
