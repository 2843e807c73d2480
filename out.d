my\ file.o : my\ file.cu \
    /inc2/a$$b.h

/inc2/a$$b.h:
