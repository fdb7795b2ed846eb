export { meantOf, notedAt, type NotedServer, notedServers, noteServer } from "./noted-servers.ts";
export { isDead, type Owner, thisProcess } from "./process-owner.ts";
export { readTokenFile, serverToken } from "./token-file.ts";
