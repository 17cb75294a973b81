"""TensorBoard: the scalars that its writer puts into an event file are metrics, for any library that writes them."""


def _scalar(value):
    """Return the number of a summary's value; None if it is no number."""
    if value.WhichOneof("value") == "simple_value":
        return value.simple_value
    plugin = value.metadata.plugin_data.plugin_name
    if value.WhichOneof("value") == "tensor" and plugin == "scalars":
        numbers = value.tensor.float_val or value.tensor.double_val
        return numbers[0] if len(numbers) == 1 else None
    return None


def _added(declare, result, writer, event, *_, **__):
    for value in event.summary.value:
        number = _scalar(value)
        if number is not None:
            declare.metric(value.tag, number, step=event.step)


def _watch(event_file_writer, follow):
    follow(event_file_writer.EventFileWriter, "add_event", _added)


WATCHED = {"tensorboard.summary.writer.event_file_writer": _watch, "tensorboardX.event_file_writer": _watch}
