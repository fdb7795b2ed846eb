import { start } from "./_bullmq.mjs";
await start(63790); // appendfsync always: every acknowledged write is on disk
