/*
 * The screen of `top`, by ncurses, whose types stay in this file. The terminal is opened a second time for
 * reading: O_NONBLOCK on the inherited descriptor would remain set for the shell after this process.
 */
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#define NCURSES_WIDECHAR 1
#include <curses.h>

#include "top.h"

/* How long to wait after an escape character for the rest of a key's sequence. A distant connection
 * delivers it sooner, and the delay of the Escape key itself is not noticed. */
#define ESCAPE_MS 50

static struct {
    FILE *keys;
    SCREEN *screen;
    WINDOW *window;
    bool has_colors;
} top;

bool mg_top_screen_is_there(void)
{
    const char *term = getenv("TERM");
    bool is_drawable = term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0;
    return is_drawable && isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
}

static void colors_begin(void)
{
    const char *no_color = getenv("NO_COLOR"); /* no-color.org */
    top.has_colors = (no_color == NULL || no_color[0] == '\0') && has_colors() && start_color() != ERR &&
                     use_default_colors() != ERR;
    if (top.has_colors) {
        (void)init_pair(MG_TOP_GOOD, COLOR_GREEN, -1);
        (void)init_pair(MG_TOP_BAD, COLOR_RED, -1);
        (void)init_pair(MG_TOP_NOTE, COLOR_CYAN, -1);
    }
}

bool mg_top_screen_open(void)
{
    top.keys = fopen("/dev/tty", "re");
    if (top.keys == NULL) {
        return false;
    }
    (void)setlocale(LC_CTYPE, ""); /* LC_NUMERIC stays "C" */
    top.screen = newterm(NULL, stdout, top.keys);
    if (top.screen == NULL) {
        (void)fclose(top.keys);
        return false;
    }
    top.window = newwin(0, 0, 0, 0);
    if (top.window == NULL) {
        mg_top_screen_close();
        return false;
    }
    (void)signal(SIGQUIT, SIG_IGN); /* its key would leave the terminal unrestored */
    (void)cbreak();
    (void)noecho();
    (void)nonl();
    (void)curs_set(0);
    (void)set_escdelay(ESCAPE_MS);
    (void)keypad(top.window, TRUE);
    (void)nodelay(top.window, TRUE);
    colors_begin();
    return true;
}

void mg_top_screen_close(void)
{
    if (top.screen == NULL) {
        return;
    }
    (void)curs_set(1);
    (void)endwin();
    if (top.window != NULL) {
        (void)delwin(top.window);
    }
    delscreen(top.screen);
    (void)fclose(top.keys);
    memset(&top, 0, sizeof(top));
}

int mg_top_screen_fd(void)
{
    return fileno(top.keys);
}

/* Readable without input: the other end of the terminal is closed. */
static bool is_gone(void)
{
    struct pollfd state = {.fd = fileno(top.keys), .events = POLLIN};
    return poll(&state, 1, 0) > 0 && (state.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

enum mg_top_key mg_top_screen_key(void)
{
    static const struct {
        int code;
        enum mg_top_key key;
    } keys[] = {{KEY_UP, MG_TOP_KEY_UP},
                {'k', MG_TOP_KEY_UP},
                {KEY_DOWN, MG_TOP_KEY_DOWN},
                {'j', MG_TOP_KEY_DOWN},
                {KEY_PPAGE, MG_TOP_KEY_PAGE_UP},
                {CTRL('b'), MG_TOP_KEY_PAGE_UP},
                {KEY_NPAGE, MG_TOP_KEY_PAGE_DOWN},
                {CTRL('f'), MG_TOP_KEY_PAGE_DOWN},
                {' ', MG_TOP_KEY_PAGE_DOWN},
                {KEY_HOME, MG_TOP_KEY_FIRST},
                {'g', MG_TOP_KEY_FIRST},
                {KEY_END, MG_TOP_KEY_LAST},
                {'G', MG_TOP_KEY_LAST},
                {'\t', MG_TOP_KEY_NEXT_LIST},
                {KEY_RIGHT, MG_TOP_KEY_NEXT_LIST},
                {KEY_BTAB, MG_TOP_KEY_PREVIOUS_LIST},
                {KEY_LEFT, MG_TOP_KEY_PREVIOUS_LIST},
                {'q', MG_TOP_KEY_QUIT},
                {'Q', MG_TOP_KEY_QUIT},
                {CTRL('c'), MG_TOP_KEY_QUIT}};
    for (int code = 0; (code = wgetch(top.window)) != ERR;) {
        if (code >= '1' && code < '1' + MG_TOP_LIST_COUNT) {
            return (enum mg_top_key)(MG_TOP_KEY_LIST_FIRST + (code - '1'));
        }
        for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
            if (keys[i].code == code) {
                return keys[i].key;
            }
        }
    }
    return is_gone() ? MG_TOP_KEY_QUIT : MG_TOP_KEY_NONE;
}

void mg_top_screen_measure(struct mg_top_place *ret_place)
{
    struct winsize size = {0};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0 &&
        is_term_resized(size.ws_row, size.ws_col)) {
        (void)resizeterm(size.ws_row, size.ws_col);
        (void)wresize(top.window, size.ws_row, size.ws_col);
        (void)clearok(top.window, TRUE); /* a terminal that reflows its lines has moved the old text */
    }
    ret_place->width = getmaxx(top.window);
    ret_place->height = getmaxy(top.window);
}

void mg_top_screen_begin(void)
{
    (void)werase(top.window);
}

/* Characters outside the terminal's character set become question marks; wide characters take two cells. */
static void text_put(int row, const char *text)
{
    wchar_t chars[MG_TOP_WIDTH_MAX + 1];
    mbstate_t state = {0};
    int cells = 0, count = 0, width = getmaxx(top.window);
    while (*text != '\0' && count < MG_TOP_WIDTH_MAX) {
        size_t len = mbrtowc(&chars[count], text, strlen(text), &state);
        if (len == 0 || len > strlen(text)) { /* also (size_t)-1 and -2 */
            memset(&state, 0, sizeof(state));
            chars[count] = L'?';
            len = 1;
            while (((unsigned char)text[len] & 0xc0) == 0x80) {
                len++;
            }
        }
        int wide = wcwidth(chars[count]);
        if (cells + (wide > 0 ? wide : 0) > width) {
            break;
        }
        cells += wide > 0 ? wide : 0;
        count += wide >= 0;
        text += len;
    }
    (void)mvwaddnwstr(top.window, row, 0, chars, count);
}

void mg_top_screen_put(void *arg, int row, enum mg_top_tone tone, bool is_chosen, const char *text)
{
    attr_t look = tone == MG_TOP_TITLE || tone == MG_TOP_BAD ? A_BOLD : A_NORMAL;
    short color = top.has_colors && tone != MG_TOP_PLAIN && tone != MG_TOP_TITLE ? (short)tone : 0;
    (void)arg;
    (void)wattr_set(top.window, look | (is_chosen ? A_REVERSE : A_NORMAL), color, NULL);
    text_put(row, text);
    if (is_chosen) {
        (void)mvwchgat(top.window, row, 0, -1, look | A_REVERSE, color, NULL);
    }
}

void mg_top_screen_end(void)
{
    (void)wattr_set(top.window, A_NORMAL, 0, NULL);
    (void)wrefresh(top.window);
}
