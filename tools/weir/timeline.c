/* weir timeline: draws a trace that weir run --trace has written, as SVG. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "timeline_read.h"
#include "weir.h"

static const char help[] =
    "usage: weir timeline FILE --svg OUT [options]\n"
    "\n"
    "Draws a trace that weir run --trace=FILE has written.\n"
    "\n"
    "  --svg OUT       the picture\n"
    "  --from MS       from that moment on, in milliseconds from the first "
    "event; default: a little\n"
    "                  before the first work in a stream\n"
    "  --to MS         to that moment; default: a little after the last one\n"
    "  --devices       streams only, no threads\n"
    "  --width PIXELS  default: 1100\n";

enum { LABELS = 190, ROW = 18, GAP = 6, MARGIN = 12, HEAD = 26 };

struct picture {
    FILE *out;
    const struct trace *trace;
    double from, to; /* µs */
    double width;    /* of the part with slices */
    double height;
};

static double x_of(const struct picture *p, double us)
{
    return LABELS + (us - p->from) / (p->to - p->from) * p->width;
}

static const char *color_of(const char *category)
{
    static const struct {
        const char *category, *color;
    } colors[] = {{"kernel", "#4f83c4"}, {"memcpy", "#d9953b"}, {"memset", "#b9a23a"},
                  {"graph", "#8d78c0"},  {"host", "#5aa469"},   {"wait", "#d7dbe0"},
                  {"event", "#c0504d"},  {"call", "#a9c4e4"},   {"compile", "#c78fb5"},
                  {"nvtx", "#e3d9f2"},   {"part", "#7ba3d4"},   {"value", "#c0504d"},
                  {"driver", "#b0b7bf"}, {"node", "#b0b7bf"}};
    for (size_t i = 0; i < WEIR_COUNT(colors); i++)
        if (strcmp(category, colors[i].category) == 0)
            return colors[i].color;
    return "#b0b7bf";
}

static void put_escaped(FILE *out, const char *text, size_t most)
{
    for (; *text != '\0' && most > 0; text++) {
        unsigned char c = (unsigned char)*text;
        most -= (c & 0xc0) != 0x80; /* characters, not bytes */
        if (c == '<')
            fputs("&lt;", out);
        else if (c == '>')
            fputs("&gt;", out);
        else if (c == '&')
            fputs("&amp;", out);
        else if (c == '\'')
            fputs("&#39;", out);
        else
            fputc(c < ' ' ? ' ' : c, out);
    }
}

static void draw_text(FILE *out, double x, double y, const char *anchor, int size,
                      const char *color, const char *text, size_t most)
{
    fprintf(out, "<text x='%.1f' y='%.1f' font-size='%d' fill='%s' text-anchor='%s'>", x, y, size,
            color, anchor);
    put_escaped(out, text, most);
    fputs("</text>\n", out);
}

/* What a person sees who points at it. */
static void draw_title(FILE *out, const struct slice *s)
{
    fputs("<title>", out);
    put_escaped(out, s->name, 300);
    fprintf(out, ": %.3f ms</title>", s->us / 1e3);
}

/* A slice; narrow ones that follow each other closely are drawn as one. */
static void draw_slice(const struct picture *p, const struct slice *s, double y, double *drawn_to)
{
    double begin = s->at > p->from ? s->at : p->from;
    double end = s->at + s->us < p->to ? s->at + s->us : p->to;
    double x = x_of(p, begin), w = x_of(p, end) - x;
    if (end < p->from || begin > p->to)
        return;
    if (w < 0.6) {
        if (x < *drawn_to)
            return;
        w = 0.6;
    }
    *drawn_to = x + w;
    fprintf(p->out, "<rect x='%.2f' y='%.1f' width='%.2f' height='%d' fill='%s'%s>", x, y, w,
            ROW - 3, color_of(s->category), w > 4 ? " stroke='#ffffff' stroke-width='0.5'" : "");
    draw_title(p->out, s);
    fputs("</rect>\n", p->out);
    size_t fits = (size_t)(w > 6 ? (w - 6) / 6.2 : 0);
    if (fits >= 3 && (fits >= 8 || strlen(s->name) <= fits))
        draw_text(p->out, x + 3, y + ROW - 7, "start", 10, "#1f2933", s->name, fits);
}

static bool seen(const struct picture *p, const struct track *t)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->slices[i].at <= p->to && t->slices[i].at + t->slices[i].us >= p->from)
            return true;
    return false;
}

/* The rows of a track: a slice inside another is a row below it. Returns where the next begins. */
static double draw_track(struct picture *p, struct track *t, double y)
{
    enum { DEEP = 8 };
    double ends[DEEP], drawn_to[DEEP] = {0};
    int depth = 0, rows = 1;
    t->y = y;
    draw_text(p->out, LABELS - 8, y + ROW - 7, "end", 11, "#1f2933", t->name, 30);
    for (size_t i = 0; i < t->count; i++) {
        const struct slice *s = &t->slices[i];
        while (depth > 0 && ends[depth - 1] <= s->at)
            depth--;
        if (depth < DEEP && s->at <= p->to && s->at + s->us >= p->from) {
            draw_slice(p, s, y + depth * ROW, &drawn_to[depth]);
            rows = depth + 1 > rows ? depth + 1 : rows;
        }
        if (depth < DEEP)
            ends[depth++] = s->at + s->us;
    }
    return y + rows * ROW + 2;
}

static void draw_arrows(const struct picture *p)
{
    for (size_t i = 0; i < p->trace->arrow_count; i++) {
        const struct arrow *a = &p->trace->arrows[i];
        const struct track *from = trace_track(p->trace, a->from_pid, a->from_tid);
        const struct track *to = trace_track(p->trace, a->to_pid, a->to_tid);
        if (from == NULL || to == NULL || from->y <= 0 || to->y <= 0 || a->begin < p->from ||
            a->end > p->to)
            continue;
        double x1 = x_of(p, a->begin), x2 = x_of(p, a->end), down = to->y > from->y ? 1 : 0;
        double y1 = from->y + down * (ROW - 3), y2 = to->y + (1 - down) * (ROW - 3);
        fprintf(p->out,
                "<path d='M%.1f,%.1f C%.1f,%.1f %.1f,%.1f %.1f,%.1f' fill='none' "
                "stroke='#c0504d' stroke-width='1' marker-end='url(#head)'/>\n",
                x1, y1, x1 + 14, (y1 + y2) / 2, x2 - 14, (y1 + y2) / 2, x2, y2);
    }
}

/* A scale of 1, 2 or 5 times a power of ten, about a tenth of the width. */
static void draw_scale(const struct picture *p, double height)
{
    double step = 0.001, most = (p->to - p->from) / 8;
    while (step * 10 <= most)
        step *= 10;
    step *= step * 5 <= most ? 5 : step * 2 <= most ? 2 : 1;
    for (int n = 0; n * step <= p->to - p->from; n++) {
        char text[64];
        double x = x_of(p, p->from + n * step);
        if (step >= 1000)
            snprintf(text, sizeof text, "%g ms", n * step / 1000);
        else
            snprintf(text, sizeof text, "%g µs", n * step);
        fprintf(p->out, "<path d='M%.1f,%d V%.1f' stroke='#e3e7eb' stroke-width='0.8'/>\n", x, HEAD,
                height - MARGIN);
        draw_text(p->out, x, HEAD - 8, "middle", 10, "#6b7785", text, 20);
    }
}

/* Tracks by processes; those of devices, which have the streams, come first. */
static double draw_tracks(struct picture *p, bool devices_only)
{
    double y = HEAD + 4;
    for (int threads = 0; threads < (devices_only ? 1 : 2); threads++)
        for (size_t n = 0; n < p->trace->process_count; n++) {
            const struct process *process = &p->trace->processes[n];
            bool named = false;
            if (process->device == (threads == 1))
                continue;
            for (size_t i = 0; i < p->trace->track_count; i++) {
                struct track *t = &p->trace->tracks[i];
                if (t->pid != process->pid || !seen(p, t))
                    continue;
                if (!named) {
                    draw_text(p->out, 6, y + 13, "start", 12, "#1f2933", process->name, 100);
                    y += ROW + 2;
                }
                named = true;
                y = draw_track(p, t, y);
            }
            y += named ? GAP : 0;
        }
    return y + MARGIN;
}

/* The body is drawn twice: to learn how high it is, and for the file. */
static bool draw(struct picture *p, const char *path, bool devices_only)
{
    p->out = fopen("/dev/null", "we");
    if (p->out == NULL)
        return false;
    p->height = draw_tracks(p, devices_only);
    fclose(p->out);
    p->out = fopen(path, "we");
    if (p->out == NULL)
        return false;
    fprintf(p->out,
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %.0f %.0f' width='%.0f' "
            "height='%.0f' font-family='Helvetica, Arial, sans-serif'>\n"
            "<defs><marker id='head' markerWidth='7' markerHeight='7' refX='6' refY='3.5' "
            "orient='auto'><path d='M0,0 L7,3.5 L0,7 z' fill='#c0504d'/></marker></defs>\n"
            "<rect width='100%%' height='100%%' fill='#ffffff'/>\n",
            p->width + LABELS + MARGIN, p->height, p->width + LABELS + MARGIN, p->height);
    draw_scale(p, p->height);
    draw_tracks(p, devices_only);
    draw_arrows(p);
    fputs("</svg>\n", p->out);
    bool fine = ferror(p->out) == 0;
    fine = fclose(p->out) == 0 && fine;
    int reason = errno;
    struct stat st;
    if (!fine && stat(path, &st) == 0 && S_ISREG(st.st_mode))
        unlink(path); /* half a picture */
    errno = reason;
    return fine;
}

static bool number_of(const char *text, double *out)
{
    char *end;
    if (text == NULL || *text == '\0')
        return false;
    *out = strtod(text, &end);
    return *end == '\0' && *out >= 0;
}

/* From a little before the first work to a little after the last, in what was not asked for. */
static void choose_range(struct picture *p, double from, double to)
{
    const struct trace *t = p->trace;
    double first = t->first_work > 0 ? t->first_work : t->first;
    double last = t->first_work > 0 ? t->last_work : t->last, lead = (last - first) / 30;
    p->from = from >= 0 ? t->first + from * 1000 : first - lead;
    p->to = to >= 0 ? t->first + to * 1000 : last + lead;
    p->from = p->from < t->first ? t->first : p->from;
    p->to = p->to > t->last ? t->last : p->to;
}

int weir_timeline(int argc, char **argv)
{
    const char *file = NULL, *svg = NULL;
    double from = -1, to = -1, width = 1100;
    bool devices_only = false;
    char *value;
    if (weir_help(argc, argv, help))
        return EXIT_OK;
    for (int i = 0; i < argc;) {
        if (weir_option(argc, argv, &i, "--svg", &value)) {
            svg = value;
        } else if (weir_option(argc, argv, &i, "--from", &value)) {
            if (!number_of(value, &from))
                return weir_misused("timeline", "--from needs a number");
        } else if (weir_option(argc, argv, &i, "--to", &value)) {
            if (!number_of(value, &to))
                return weir_misused("timeline", "--to needs a number");
        } else if (weir_option(argc, argv, &i, "--width", &value)) {
            if (!number_of(value, &width) || width < 400 || width > 100000)
                return weir_misused("timeline", "--width needs a number from 400 to 100000");
        } else if (strcmp(argv[i], "--devices") == 0) {
            devices_only = true;
            i++;
        } else if (argv[i][0] == '-' || file != NULL) {
            return weir_misused("timeline", "unknown option '%s'", argv[i]);
        } else {
            file = argv[i++];
        }
    }
    if (file == NULL || svg == NULL)
        return weir_misused("timeline", file == NULL ? "no file given" : "no --svg given");
    struct trace t;
    struct diag d = {0};
    if (!trace_read(file, &t, &d))
        return weir_failed("timeline", "%s: %s", file, d.text);
    struct picture p = {.trace = &t, .width = width - LABELS - MARGIN};
    choose_range(&p, from, to);
    if (!(p.to > p.from))
        return weir_failed("timeline", "%s: nothing happens in that time", file);
    if (!draw(&p, svg, devices_only))
        return weir_failed("timeline", "%s: %s", svg, strerror(errno));
    trace_free(&t);
    return EXIT_OK;
}
