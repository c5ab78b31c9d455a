// jemalloc's settings. It takes the place of the C library's malloc, which spends a quarter of what
// an aggregator does, and keeps for ever what lies below something small that is still held.

// By this name jemalloc looks for them (its manual, "TUNING").
extern "C" const char* const malloc_conf =
    // Arenas that threads share: with one for each of an agent's twenty threads, what one has freed
    // no other could use.
    "narenas:2,"
    // Pages that nobody uses go back within seconds, also where nobody allocates any more: threads
    // of its own see to that.
    "background_thread:true,dirty_decay_ms:2000,muzzy_decay_ms:0";
