/* Prints the findings of balefs doctor, or collects them as JSON. */
#include <stdarg.h>
#include <stdio.h>

#include "tools/common/json.h"
#include "tools/common/message.h"
#include "tools/doctor/doctor.h"

void bale_doctor_report(struct bale_doctor *doctor, const char *name, enum bale_finding finding,
                        const char *advice, const char *format, ...)
{
    static const char *const words[] = {"fine", "note", "bad"};
    char found[2048], clean[2048];
    va_list args;

    va_start(args, format);
    vsnprintf(found, sizeof found, format, args);
    va_end(args);
    doctor->bad = doctor->bad || finding == BALE_FINDING_BAD;
    if (!doctor->json) {
        printf("%s %-15s %s%s%s\n", finding == BALE_FINDING_BAD ? "!" : " ", name,
               bale_clean_text(found, clean, sizeof clean), advice ? ": " : "",
               advice ? advice : "");
        return;
    }
    json_t *object = json_object();
    bale_json_text(object, "name", name);
    bale_json_text(object, "finding", words[finding]);
    bale_json_path(object, "found", found);
    json_object_set_new(object, "advice", advice ? json_string(advice) : json_null());
    json_array_append_new(doctor->json, object);
}
