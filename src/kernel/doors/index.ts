export { type Body, type BytesContent, type Exchange, sendBytes, sendFile, sendStream } from "./answers.ts";
export { boundedText, readBody } from "./body.ts";
export { type ConnectionLimits, Connections, defaultConnectionLimits, isUnused } from "./connections.ts";
export type { Door, DoorOptions, Served } from "./door.ts";
export type { AskedRequest } from "./entry.ts";
export {
  isFresh,
  isOf,
  loadX509,
  readPair,
  replaceKey,
  selfSignedPair,
  servesNames,
  writePair,
} from "./key-pairs.ts";
export { lastResponse } from "./last-response.ts";
export { meantOf, notedAt, type NotedServer, notedServers, noteServer } from "./noted-servers.ts";
export { openDoor } from "./open-door.ts";
export { DoorRefusal, type FormRefusal, type RefusalForm, type RefusalKind } from "./refusal.ts";
export { keptOnce, readTokenFile, serverToken } from "./token-file.ts";
export type { KeyPair } from "./x509.ts";
