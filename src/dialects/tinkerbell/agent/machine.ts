import { readdir, readFile } from "node:fs/promises";
import type { JsonObject } from "#lib/base/index.ts";

// Describes the machine by the names that released agents use, from files of the Linux kernel.

/** As JSON. It travels base64-encoded in a header, and proxies may limit headers to 8 KiB. */
export const maxMachineBytes = 5000;
const maxText = 100;

/** Undefined for a file that is missing, unreadable or empty. */
type Read = (path: string) => Promise<string | undefined>;

/** Never rejects. */
export async function describeMachine(root = "/"): Promise<JsonObject> {
  const read: Read = async (path) => {
    const text = (await readFile(`${root}${path}`, "utf8").catch(() => "")).trim();
    return text === "" ? undefined : text;
  };
  const list = (path: string) => readdir(`${root}${path}`).then(inOrder, () => []);
  const [disks, interfaces] = await Promise.all([list("sys/block"), list("sys/class/net")]);
  const [cpu, memory, block, network, firmware] = await Promise.all([
    read("proc/cpuinfo").then((text = "") => cpuIn(text)),
    read("proc/meminfo").then((text = "") => memoryIn(text)),
    Promise.all(disks.map((name) => diskAt(name, read))),
    Promise.all(interfaces.map((name) => interfaceAt(name, read))),
    firmwareOf(read),
  ]);
  return fitting({ ...cpu, ...memory, ...firmware }, { block: block.flat(), network: network.flat() });
}

const inOrder = (names: readonly string[]): readonly string[] => names.toSorted();

function said(members: Readonly<Record<string, string | number | undefined>>): JsonObject {
  const known: Record<string, string | number> = {};
  for (const [name, value] of Object.entries(members))
    if (typeof value === "number") known[name] = value;
    else if (value !== undefined && value !== "") known[name] = value.slice(0, maxText);
  return known;
}

const under = (name: string, members: JsonObject): JsonObject =>
  Object.keys(members).length === 0 ? {} : { [name]: members };

/** One block of `name : value` lines per thread. Machines without `physical id` have one thread per core. */
export function cpuIn(text: string): JsonObject {
  const threads = text
    .split(/\n\s*\n/)
    .map((block) => new Map(block.split("\n").map((line) => splitAt(line, ":"))))
    .filter((thread) => thread.has("processor"));
  if (threads.length === 0) return {};
  const socketOf = (thread: ReadonlyMap<string, string>) => Number(thread.get("physical id") ?? 0);
  const processors = [...new Set(threads.map(socketOf))].map((id) => {
    const its = threads.filter((thread) => socketOf(thread) === id);
    const cores = Number(its[0]?.get("cpu cores") ?? its.length);
    const made = said({ vendor: its[0]?.get("vendor_id"), model: its[0]?.get("model name") });
    return { id, cores, threads: its.length, ...made };
  });
  const cores = processors.reduce((sum, each) => sum + each.cores, 0);
  return { cpu: { total_cores: cores, total_threads: threads.length, processors: processors.slice(0, 8) } };
}

function splitAt(line: string, mark: string): readonly [string, string] {
  const at = line.indexOf(mark);
  return at < 0 ? [line.trim(), ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
}

export function memoryIn(text: string): JsonObject {
  const [, kibibytes] = /^MemTotal:\s+(\d+) kB$/m.exec(text) ?? [];
  return kibibytes === undefined ? {} : { memory: { usable: `${kibibytes}Ki` } };
}

async function diskAt(name: string, read: Read): Promise<JsonObject[]> {
  const at = (file: string) => read(`sys/block/${name}/${file}`);
  const device = await at("device/uevent");
  const sectors = Number(await at("size"));
  // A drive without a medium.
  if (device === undefined || !(sectors > 0)) return [];
  const isTurning = await at("queue/rotational");
  return [
    said({
      name,
      drive_type: isTurning === undefined ? undefined : isTurning === "1" ? "HDD" : "SSD",
      size: `${Math.floor(sectors / 2)}Ki`,
      physical_block_size: await at("queue/physical_block_size"),
      vendor: await at("device/vendor"),
      model: await at("device/model"),
      wwn: (await at("wwid")) ?? (await at("device/wwid")),
      serial_number: (await at("serial")) ?? (await at("device/serial")),
    }),
  ];
}

/** Only those with a device. The speed is -1 without a link. */
async function interfaceAt(name: string, read: Read): Promise<JsonObject[]> {
  const at = (file: string) => read(`sys/class/net/${name}/${file}`);
  if ((await at("device/uevent")) === undefined) return [];
  const speed = Number((await at("speed")) ?? -1);
  return [said({ name, mac: await at("address"), speed: speed > 0 ? `${speed}Mb/s` : undefined })];
}

/** Serial numbers are readable by root only. */
async function firmwareOf(read: Read): Promise<JsonObject> {
  const at = (file: string) => read(`sys/class/dmi/id/${file}`);
  return {
    ...under("chassis", said({ serial: await at("chassis_serial"), vendor: await at("chassis_vendor") })),
    ...under(
      "bios",
      said({
        vendor: await at("bios_vendor"),
        version: await at("bios_version"),
        release_date: await at("bios_date"),
      }),
    ),
    ...under(
      "baseboard",
      said({
        vendor: await at("board_vendor"),
        product: await at("board_name"),
        version: await at("board_version"),
        serial_number: await at("board_serial"),
      }),
    ),
    ...under(
      "product",
      said({
        name: await at("product_name"),
        vendor: await at("sys_vendor"),
        serial_number: await at("product_serial"),
      }),
    ),
  };
}

/** As many entries as fit; the longest list is cut first. */
function fitting(rest: JsonObject, lists: Readonly<Record<"block" | "network", readonly JsonObject[]>>): JsonObject {
  let { block, network } = lists;
  for (;;) {
    const all = {
      ...rest,
      ...(block.length === 0 ? {} : { block: [...block] }),
      ...(network.length === 0 ? {} : { network: [...network] }),
    };
    if (Buffer.byteLength(JSON.stringify(all)) <= maxMachineBytes) return all;
    if (block.length === 0 && network.length === 0) return {};
    if (block.length >= network.length) block = block.slice(0, -1);
    else network = network.slice(0, -1);
  }
}
