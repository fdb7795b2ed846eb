import { expect, test } from "vitest";
import { type ConnectionFlags, readConnection } from "./connection.ts";

const read = async (flags: ConnectionFlags, variables: Readonly<Record<string, string>> = {}) => {
  const found = await readConnection(
    flags,
    (name) => variables[name],
    (file) => Promise.resolve(`text of ${file}`),
  );
  return found.ok ? found.value : found.error;
};

test("without flags and variables it is the original's default account on this machine", async () => {
  expect(await read({})).toEqual({
    endpoints: ["https://127.0.0.1:8092"],
    credentials: { user: "rocketskates", password: "r0cketsk8ts" },
    trust: { kind: "any" },
  });
});

test("RS_TOKEN counts before RS_KEY, whose password may contain colons", async () => {
  expect(await read({}, { RS_KEY: "anna:a:b" })).toMatchObject({ credentials: { user: "anna", password: "a:b" } });
  expect(await read({}, { RS_KEY: "anna:b", RS_TOKEN: "t" })).toMatchObject({ credentials: { token: "t" } });
  expect(await read({}, { RS_KEY: "anna" })).toBe("RS_KEY: expected USER:PASSWORD");
});

test("endpoints are tried in their order, a given one first", async () => {
  const many = { RS_ENDPOINTS: "https://a:1 https://b:2" };
  expect(await read({}, many)).toMatchObject({ endpoints: ["https://a:1", "https://b:2"] });
  expect(await read({ endpoint: "https://c:3" }, many)).toMatchObject({
    endpoints: ["https://c:3", "https://a:1", "https://b:2"],
  });
  expect(await read({}, { ...many, RS_ENDPOINT: "https://d:4" })).toMatchObject({ endpoints: ["https://d:4"] });
});

test("certificates are verified by an authority or a fingerprint, not both", async () => {
  const fingerprint = "AB:".repeat(31) + "AB";
  expect(await read({ ca: "ca.pem" })).toMatchObject({ trust: { kind: "authority", pem: "text of ca.pem" } });
  expect(await read({ fingerprint })).toMatchObject({ trust: { kind: "pinned", fingerprint } });
  expect(await read({ fingerprint, ca: "ca.pem" })).toBe("--ca and --fingerprint exclude each other");
  expect(await read({ fingerprint: "abc" })).toContain('64 hexadecimal digits of SHA-256, found "abc"');
});
