/* The state of mounts in the text format of Prometheus, for the textfile collector of its
 * node_exporter. doc/usage.md lists the names. */
#ifndef BALE_TOOLS_INSPECT_METRICS_H
#define BALE_TOOLS_INSPECT_METRICS_H

/* Prints the metrics of the mounts at these paths. Asks their daemons only, and reads no file.
 * Returns the exit code: BALE_EXIT_FAILED after a message if one does not answer. */
int bale_metrics_print(int count, char **paths);

#endif
