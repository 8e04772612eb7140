from fanout.runtime.questions import question_handler_of

handler = question_handler_of("ExamineTurns")
