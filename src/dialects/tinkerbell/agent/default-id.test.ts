import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { defaultAgentId, defaultInterface4, defaultInterface6 } from "./default-id.ts";

const head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";
const four = `${head}wlan0\t00000000\t0100A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0
eth0\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0
eth1\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0
down0\t00000000\t0100000A\t0002\t0\t0\t1\t00000000\t0\t0\t0
`;
const zeros = "0".repeat(32);
const six = `${zeros} 00 ${zeros} 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth6
${zeros} 00 ${zeros} 00 ${zeros} ffffffff 00000001 00000000 00200200       lo
`;

test("the interface is that of the usable default route with the lowest metric", () => {
  expect(defaultInterface4(four)).toBe("eth0");
  expect(defaultInterface4(head)).toBeUndefined();
  expect(defaultInterface6(six)).toBe("eth6");
  expect(defaultInterface6("")).toBeUndefined();
});

async function idOf(files: Readonly<Record<string, string>>): Promise<string | undefined> {
  const root = `${await mkdtemp(join(tmpdir(), "slipway-default-id-"))}/`;
  try {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text);
    }
    return await defaultAgentId(root);
  } finally {
    await rm(root, { recursive: true });
  }
}

test("the id is that interface's address; IPv6 counts where there is no other way out", async () => {
  const eth0 = { "sys/class/net/eth0/address": "52:54:00:AB:cd:ef\n" };
  const eth6 = { "sys/class/net/eth6/address": "52:54:00:00:00:06\n" };
  expect(await idOf({ "proc/net/route": four, "proc/net/ipv6_route": six, ...eth0, ...eth6 })).toBe(
    "52:54:00:ab:cd:ef",
  );
  expect(await idOf({ "proc/net/route": head, "proc/net/ipv6_route": six, ...eth6 })).toBe("52:54:00:00:00:06");
});

test("there is none without a way out, or where that has no address", async () => {
  expect(await idOf({})).toBeUndefined();
  expect(await idOf({ "proc/net/route": four })).toBeUndefined();
  expect(await idOf({ "proc/net/route": four, "sys/class/net/eth0/address": "00:00:00:00:00:00\n" })).toBeUndefined();
});
