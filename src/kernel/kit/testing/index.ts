export { MemoryClient, memoryClient, type MemoryClientOptions } from "./memory-client.ts";
