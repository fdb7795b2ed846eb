export { type ScriptedSessions, scriptedSessions } from "./scripted-sessions.ts";
export { type Answered, type Ask, type Json, startTestServer, type TestServer, type TestWatch } from "./test-server.ts";
export { waitUntil } from "./wait-until.ts";
export * from "./documents.ts";
export { type TestContext, testContext } from "./test-context.ts";
