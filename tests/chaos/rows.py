"""The catalogue of failures, row by row: the faults that inject it, the tests that cover it elsewhere, or the reason for its
absence.

The faults name their rows themselves. This file holds the title of each row, and the tests elsewhere for effects that chaos cannot
see. Where both are named, chaos injects the row as well. Rows left out have a reason.
"""

import pathlib
import re

TESTS = pathlib.Path(__file__).resolve().parents[1]

ROWS = {  # number: (title, tests that cover it elsewhere, a remark)
    1: ("client dies after it submitted", ["a_client_that_comes_back_is_sent_the_state_of_its_order",
                                           "a_status_that_cannot_be_delivered_is_owed_and_its_order_goes_on"], ""),
    2: ("the same order twice", ["the_same_bytes_many_times_are_one_order_and_other_bytes_a_conflict"], ""),
    3: ("the same id, another payload", ["the_same_id_with_other_bytes_is_a_conflict"], ""),
    4: ("malformed submission", ["every_bad_submission_is_rejected_with_its_reason_and_kept"], ""),
    5: ("oversized submission", ["large_bodies_arrive_and_oversized_ones_are_read_past"], ""),
    6: ("JSON bomb", ["every_bad_submission_is_rejected_with_its_reason_and_kept"], ""),
    7: ("header bomb", ["deeply_nested_headers_do_no_harm", "headers_that_fill_a_frame_cost_only_themselves"],
        "18,000 levels against one connection there; 60 here, through all of it"),
    8: ("reply_to names an internal queue", ["a_reply_queue_of_our_own_is_refused_and_never_written_to"], ""),
    9: ("client floods", [], ""),
    10: ("intake dies between commit and ack", ["a_cause_that_comes_again_makes_its_effects_again"], ""),
    11: ("intake dies before its commit", [], ""),
    12: ("submission that kills whoever takes it", ["a_message_seen_twice_before_is_handled_alone"], ""),
    13: ("intake without its database", ["messages_are_returned_while_the_store_stays_away"], ""),
    14: ("intake queue full", ["full_queue_refuses"], ""),
    15: ("scheduler dies at any point", ["everything_of_ours_killed_at_once_comes_back",
                                         "a_scheduler_killed_anywhere_between_cause_and_ack"], ""),
    16: ("scheduler stopped past complete-by", ["a_paused_scheduler_is_taken_over_and_changes_nothing_on_waking"], ""),
    17: ("scheduler cut off from the database", ["messages_are_returned_while_the_store_stays_away"], ""),
    18: ("scheduler cut off from the broker", ["silence_is_noticed_by_heartbeats"], ""),
    19: ("cut off one way", ["silent_broker_hangs_nothing"], ""),
    20: ("slow database, slow confirms", [], ""),
    21: ("duplicate reply", ["any_other_duplicate_publishes_nothing"], ""),
    22: ("reply of attempt 1 after attempt 2 began", ["reply_of_an_older_attempt_changes_nothing"], ""),
    23: ("reply after complete-by, same attempt", ["late_reply_counts_until_the_attempt_is_judged"], ""),
    24: ("reply for an unknown order, tampered", ["replies_that_fit_nothing_change_nothing"], ""),
    25: ("reply from somebody else", ["a_word_from_the_agents_of_another_service_counts_for_nothing"], ""),
    26: ("publisher dies before it notes the confirm", [], "there is no outbox: the cause is not acked, and comes again"),
    27: ("two schedulers, one order", ["many_schedulers_take_each_order_once", "two_writers_at_once_get_true_answers"], ""),
    28: ("old and new versions mixed", ["words_of_a_newer_version_are_left_for_another_instance"], "tests/upgrade/run"),
    29: ("agent dies before the call", ["an_agent_killed_anywhere_between_request_and_ack"], ""),
    30: ("agent dies after the remote acted", ["an_agent_killed_anywhere_between_request_and_ack"], ""),
    31: ("agent dies between reply and ack", ["an_agent_killed_anywhere_between_request_and_ack"], ""),
    32: ("agent stopped past complete-by", ["a_request_past_its_complete_by_is_dropped_in_silence"], ""),
    33: ("expired request", ["a_late_request_is_dropped_in_silence"], ""),
    34: ("two agents, one attempt", ["a_redelivery_joins_the_call_that_is_under_way"], ""),
    35: ("broker's consumer time-out", ["a_mistake_in_a_definition_is_refused_with_file_and_pointer"],
         "the broker looks once a minute and takes no less than that; definitions above it are refused"),
    36: ("request that kills whoever takes it", ["a_message_seen_twice_before_is_handled_alone"], ""),
    37: ("no descriptors, no memory", [], ""),
    38: ("leading supervisor dies", ["another_supervisor_leads_within_two_seconds_of_a_kill",
                                     "a_supervisor_killed_anywhere_between_election_and_asking"], ""),
    39: ("leading supervisor stopped, woken", ["a_paused_leader_is_replaced_and_changes_nothing_on_waking"], ""),
    40: ("leading supervisor cut off", ["a_leader_without_a_broker_steps_down"], ""),
    41: ("leader's session killed", ["a_leader_whose_session_is_killed_is_succeeded_and_fenced"], ""),
    42: ("no supervisor for long", ["mass_expiry_is_braked_and_alerted"], "an hour: with a simulated clock"),
    43: ("transaction pool in front", ["a_supervisor_refuses_to_lead_through_a_transaction_pool"], "refused at start: nothing to inject"),
    44: ("sweep races with a reply", ["a_row_that_is_being_written_is_left_alone"], "each run has thousands; the simulator orders them"),
    45: ("attempts used up", ["a_step_that_exhausts_its_attempts_turns_its_order_back"], ""),
    46: ("undo fails", ["an_undo_that_fails_is_alerted_repaired_and_resumed"], ""),
    47: ("undo overtakes a late do", ["undo_waits_until_an_expired_attempt_can_no_longer_act"], ""),
    48: ("killed while compensating", [], "every sixth order is compensated"),
    49: ("remote acts, then resets", ["an_unknown_step_is_verified_before_anything_else"], ""),
    50: ("kept-alive connection reset: silent replay", ["at_most_once_has_one_try_on_a_fresh_connection"], ""),
    51: ("remote hangs", ["a_step_that_expires_is_repeated_with_the_same_key"], ""),
    52: ("remote without end", ["a_remote_that_answers_nonsense_is_classified_and_memory_stays_flat"], ""),
    53: ("remote redirects", ["a_remote_that_answers_nonsense_is_classified_and_memory_stays_flat"],
         "permanent by contract: orders would turn back by it, not by a fault of ours"),
    54: ("429, 503, nonsense", ["a_wait_that_a_remote_asks_for_is_kept",
                                "a_service_that_is_down_longer_than_complete_within_costs_no_attempt"], ""),
    55: ("bad certificate, no such host", ["an_order_waits_until_certificates_are_right_and_is_executed_once",
                                           "a_remote_that_cannot_be_reached_has_executed_nothing"], ""),
    56: ("remote ignores the key", ["a_step_that_happened_and_was_then_refused_is_undone_all_the_same",
                                    "a_step_sent_at_most_once_is_never_sent_again"], "in the load of each run, with steps at most once"),
    57: ("broker dies", ["a_killed_broker_comes_back_and_nothing_is_lost"], ""),
    58: ("broker's application stopped, connections closed", ["each_publish_ends_once_through_many_cuts"], ""),
    59: ("broker stopped", ["silent_broker_hangs_nothing"], ""),
    60: ("memory and disk alarms", [], ""),
    61: ("queue deleted or purged", ["deleted_queue_is_noticed_and_consumed_again", "a_consumer_that_the_broker_forgot_is_made_again"], ""),
    62: ("other arguments, no rights, no virtual host", ["a_right_missing_at_the_broker_is_named_once_and_found_when_granted",
                                                         "queue_with_other_arguments_is_named"], ""),
    63: ("broker loses everything", [], ""),
    64: ("cluster divided", [], "with --cluster"),
    65: ("broker without connections", [], ""),
    66: ("database dies", ["a_killed_database_comes_back_and_nothing_is_lost"], ""),
    67: ("cut after COMMIT, before its answer", ["a_commit_whose_answer_was_lost_conflicts_when_run_again_and_shows_what_it_did"], ""),
    68: ("database stopped", [], ""),
    69: ("failover", ["a_reply_ahead_of_the_database_stops_its_order", "lost_state_in_the_middle_of_undoing_keeps_the_undos"],
         "to a synchronous standby; a lost tail: its own test and the simulator, for what may be lost then is no finding here"),
    70: ("read-only, crowded", [], ""),
    71: ("database's disk full", [], ""),
    72: ("deadlock, lock time-out", ["a_locked_order_is_refused_for_now_and_written_later", "others_are_written_past_locked_orders"], ""),
    73: ("old transaction held open", [], ""),
    74: ("row that the database refuses", ["a_row_that_cannot_be_stored_stands_alone",
                                           "a_refused_order_waits_alone_and_its_neighbours_go_on"],
         "no client can make one: submissions that would are refused (row 6)"),
    75: ("log cannot be written", [], ""),
    76: ("clocks", ["a_wall_clock_that_jumps_does_not_move_a_measured_database_clock", "a_clock_that_goes_back_makes_no_gap",
                    "after_a_clock_that_went_back_all_open_orders_are_woken_once",
                    "no_wait_is_longer_than_its_policy_allows"], ""),
    77: ("memory refused at call n", [], "by limit here; every n: tests/sim/torture/run"),
    78: ("SIGTERM under load", ["services_end_on_sigterm_with_work_in_hand_and_lose_nothing"], ""),
    79: ("partial frames", ["only_held_messages_are_redelivered_after_a_cut"], ""),
    80: ("corrupt bytes", [], "where the protocols can notice; TCP's checksum and TLS guard the rest"),
    81: ("two operators at once", ["two_operators_or_two_clicks_of_one_cause_one_change"], "people, not machines"),
    82: ("wrong configuration", ["a_mistake_in_a_definition_is_refused_with_file_and_pointer"], "refused at load: nothing to inject"),
    83: ("queue without its majority", ["a_clients_queue_without_a_majority_holds_up_no_other_client",
                                        "a_services_queue_without_a_majority_holds_up_no_other_service"], ""),
    84: ("gateway dies, stalls or is cut off with signals in hand", [], ""),
    85: ("signals lost before they are taken", ["a_signal_over_http_is_its_client_s_and_a_callback_its_step_s"], ""),
}


def known_tests():
    text = "\n".join(path.read_text(encoding="utf-8") for folder in ("unit", "integration", "e2e")
                     for path in (TESTS / folder).rglob("*") if path.suffix in (".c", ".py"))
    return set(re.findall(r"START_TEST\((\w+)\)", text)) | set(re.findall(r"^def (\w+)\(s\)", text, flags=re.M))


def tell_others(faults):
    """Prints the rows that none of these faults injects, and their cover elsewhere."""
    injected = {number for each in faults for number in each.rows}
    for number, (title, tests, remark) in ROWS.items():
        if number not in injected:
            print(f"row {number}, {title}, is not injected here: " + "; ".join(tests + ([remark] if remark else [])))


def show(faults):
    """Prints all rows; returns 1 if one is not covered, or only by a test that does not exist."""
    known, wrong = known_tests(), []
    for number, (title, tests, remark) in ROWS.items():
        injectors = [each.name for each in faults.values() if number in each.rows]
        print(f"{number:>2}  {title}")
        for name in injectors:
            print(f"      fault  {name}")
        for name in tests:
            print(f"      test   {name}")
            if name not in known:
                wrong.append(f"row {number}: there is no test {name}")
        if remark:
            print(f"      {remark}")
        if not injectors and not tests:
            wrong.append(f"row {number} is covered by nothing")
    for each in faults.values():
        wrong += [f"{each.name}: there is no row {number}" for number in each.rows if number not in ROWS]
    injected = sum(any(number in each.rows for each in faults.values()) for number in ROWS)
    print(f"\n{len(ROWS)} rows: {injected} injected here by {len(faults)} faults, {len(ROWS) - injected} covered elsewhere")
    for text in wrong:
        print(f"wrong: {text}")
    return 1 if wrong else 0
