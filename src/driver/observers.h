/* observers: who observes this process (observe/observe.h). */
#ifndef WEIR_DRIVER_OBSERVERS_H
#define WEIR_DRIVER_OBSERVERS_H

/* Registers the observers that the environment asks for, once; before the devices are opened. */
void observers_begin(void);

#endif
