import { type AddressInfo, createServer } from "node:net";
import { expect, test } from "vitest";
import { tcpConnect } from "./tcp-connect.ts";
import { askWorker } from "./worker-rest-client.ts";

test("a worker that answers with another protocol has not answered", async () => {
  const server = createServer((connection) => {
    connection.on("error", () => undefined);
    connection.once("data", () =>
      connection.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n"),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  try {
    const connect = tcpConnect(`127.0.0.1:${(server.address() as AddressInfo).port}`);
    const asked = askWorker(connect, { path: "/api/build" }, new AbortController().signal);
    await expect(asked).rejects.toThrow("the connection was closed without an answer");
  } finally {
    server.close();
  }
});
