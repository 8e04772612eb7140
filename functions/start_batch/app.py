from fanout.runtime.handlers import queue_handler_of

handler = queue_handler_of("StartBatch")
