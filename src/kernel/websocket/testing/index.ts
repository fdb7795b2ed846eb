export { HandshakeRefused, openTestClient, type TestClient } from "./test-client.ts";
