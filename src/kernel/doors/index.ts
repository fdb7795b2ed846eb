export { meantOf, notedAt, type NotedServer, notedServers, noteServer } from "./noted-servers.ts";
export { readTokenFile, serverToken } from "./token-file.ts";
