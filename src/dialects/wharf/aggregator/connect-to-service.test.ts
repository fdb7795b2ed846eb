import { createSecureServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { expect, test, vi } from "vitest";
import { CertificateFolder } from "#test/support/certificates.ts";
import { connectToService } from "./original-lines.ts";

test("an address of https is reached over TLS for HTTP/2, and only where its certificate is trusted", async () => {
  const certificates = await CertificateFolder.create();
  await certificates.sign("server", "server");
  const server = createSecureServer({ key: certificates.read("server.key"), cert: certificates.read("server.crt") });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const connect = connectToService(`https://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const { signal } = new AbortController();
  try {
    await expect(connect(signal)).rejects.toMatchObject({ code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" });
    // What is trusted is said when the process starts; here everything is, for a moment.
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
    const socket = await connect(signal);
    expect(socket).toMatchObject({ encrypted: true, alpnProtocol: "h2" });
    socket.destroy();
  } finally {
    vi.unstubAllEnvs();
    server.close();
    certificates.close();
  }
});
