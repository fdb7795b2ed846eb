import { X509Certificate } from "node:crypto";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { connect } from "node:tls";
import { describe, expect, test } from "vitest";
import { systemClock } from "#lib/base/index.ts";
import { createAuthority, createServing } from "./x509.ts";

const now = Date.UTC(2026, 0, 1);
const day = 86_400_000;

describe("an authority", () => {
  test("is one, for ten years, and only for certificates that are none", async () => {
    const certificate = new X509Certificate((await createAuthority(now, "test-ca")).cert);
    expect(certificate.ca).toBe(true);
    expect(certificate.subject).toBe("CN=test-ca");
    expect(certificate.checkIssued(certificate)).toBe(true);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(Date.parse(certificate.validTo) - now).toBe(3650 * day);
    expect(certificate.publicKey.asymmetricKeyDetails).toMatchObject({ namedCurve: "prime256v1" });
  });

  test("has another key and number each time", async () => {
    const [a, b] = [await createAuthority(now, "x"), await createAuthority(now, "x")];
    expect(a.key).not.toBe(b.key);
    expect(new X509Certificate(a.cert).serialNumber).not.toBe(new X509Certificate(b.cert).serialNumber);
  });
});

describe("a serving certificate", () => {
  test("names hosts and addresses apart, and nothing else", async () => {
    const authority = await createAuthority(now, "ca");
    const { cert } = await createServing(authority, ["a.example", "127.0.0.1", "::1"], now);
    const certificate = new X509Certificate(cert);
    expect(certificate.subjectAltName).toBe("DNS:a.example, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1");
    expect(certificate.checkHost("b.example")).toBeUndefined();
    expect(certificate.checkHost("127.0.0.1")).toBeUndefined();
    expect(certificate.ca).toBe(false);
    expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
  });

  test("is good a little before it is made, for a clock that is behind, and for a year", async () => {
    const { cert } = await createServing(await createAuthority(now, "ca"), ["a"], now);
    const certificate = new X509Certificate(cert);
    expect(Date.parse(certificate.validFrom)).toBe(now - 24 * 3_600_000);
    expect(Date.parse(certificate.validTo) - now).toBe(365 * day);
  });

  test("has a positive number of at most 20 octets, as RFC 5280 demands", async () => {
    const authority = await createAuthority(now, "ca");
    for (let count = 0; count < 20; count++) {
      const { serialNumber } = new X509Certificate((await createServing(authority, ["a"], now)).cert);
      expect(serialNumber).toMatch(/^[4-7][0-9A-F]{31}$/);
    }
  });

  test("serves whoever trusts the authority, and nobody who trusts another of its name", async () => {
    const begun = systemClock.now();
    const [authority, stranger] = [await createAuthority(begun, "ca"), await createAuthority(begun, "ca")];
    const server = createServer(await createServing(authority, ["localhost"], begun));
    await new Promise<void>((resolve) => server.listen({ host: "127.0.0.1", port: 0 }, resolve));
    const { port } = server.address() as AddressInfo;
    const shake = (ca: string) =>
      new Promise<string>((resolve) => {
        const socket = connect({ host: "127.0.0.1", port, ca, servername: "localhost" });
        socket.once("secureConnect", () => resolve("trusted"));
        socket.once("error", ({ message }) => resolve(message));
      });
    expect(await shake(authority.cert)).toBe("trusted");
    expect(await shake(stranger.cert)).not.toBe("trusted");
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  test("needs an authority whose key can be read", async () => {
    const authority = { ...(await createAuthority(now, "ca")), key: "" };
    await expect(createServing(authority, ["a"], now)).rejects.toThrow(/holds no key|PEM/);
  });
});
