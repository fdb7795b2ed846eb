import { expect, test } from "vitest";
import { type LogFields, SlipwayError } from "#lib/base/index.ts";
import { openChosen } from "./listening.ts";

const told: [string, LogFields | undefined][] = [];
const listening = {
  what: "wharf-api",
  flag: "--wharf-listen",
  log: { warn: (message: string, fields?: LogFields) => void told.push([message, fields]) },
};

/** A machine on which all ports of a list are somebody else's. */
const machine = (code: string) => (address: string) => {
  if (address.endsWith(":0")) return Promise.resolve({ port: 40_000 });
  const cause = Object.assign(new Error("taken"), { code });
  return Promise.reject(new SlipwayError("rpc-listen", `cannot listen at ${address}`, { cause }));
};

test("an address that is only usual and taken gives way to a free port of its host, and that is told", async () => {
  const opened = await openChosen({ address: "[::1]:5001", isUsual: true }, machine("EADDRINUSE"), listening);
  expect(opened.port).toBe(40_000);
  expect(told).toEqual([
    [
      "the usual address of wharf-api is in use; set --wharf-listen to choose another one",
      { usual: "[::1]:5001", address: "[::1]:40000" },
    ],
  ]);
});

test.each([
  ["EADDRINUSE", false],
  ["EACCES", true],
])("one that cannot be had because of %s ends the start (usual: %s)", async (code, isUsual) => {
  await expect(openChosen({ address: "127.0.0.1:1", isUsual }, machine(code), listening)).rejects.toMatchObject({
    code: "listen-failed",
    message: "cannot listen at 127.0.0.1:1",
    hint: "name another address with --wharf-listen HOST:PORT, or --wharf-listen off to disable the port",
  });
});
