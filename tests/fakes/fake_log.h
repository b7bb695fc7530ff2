/*
 * A log that counts. Kept: the level and the message of each line. Not kept: its fields, and the output.
 */
#ifndef MG_TESTS_FAKE_LOG_H
#define MG_TESTS_FAKE_LOG_H

extern struct fake_log {
    int lines, warnings, errors; /* warnings and errors: each at that level alone */
    int loud;                    /* at warning or above */
    char last_line[256];         /* at warning or above */
} fake_log;

#endif
