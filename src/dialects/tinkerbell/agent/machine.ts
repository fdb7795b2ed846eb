import { readdir, readFile } from "node:fs/promises";
import type { JsonObject } from "#lib/base/index.ts";

// What an agent tells of the machine that it is on, in the names that released agents have for it, so that whoever looks for a machine by what it
// is need not know which agent has told. As the kernel of Linux shows it in files; where there are none, nothing is told.

/**
 * Bytes of it as JSON. It travels in a header, base64 on top, and what stands between agent and server may take 8 KiB of headers and not more.
 */
export const maxMachineBytes = 5000;
/** Firmware may say anything. */
const maxText = 100;

/** Answers undefined for a file that is not there, is not for this user, or is empty. */
type Read = (path: string) => Promise<string | undefined>;

/** Processor, memory, disks, interfaces and the makers' names and numbers. Never rejects. */
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

/** Only what there is a word for. */
function said(members: Readonly<Record<string, string | number | undefined>>): JsonObject {
  const known: Record<string, string | number> = {};
  for (const [name, value] of Object.entries(members))
    if (typeof value === "number") known[name] = value;
    else if (value !== undefined && value !== "") known[name] = value.slice(0, maxText);
  return known;
}

/** A member of that name, unless there is nothing to say in it. */
const under = (name: string, members: JsonObject): JsonObject =>
  Object.keys(members).length === 0 ? {} : { [name]: members };

/** A block of lines for each thread: `name : value`. Machines without `physical id` have one thread for each core. */
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

/** What the kernel has to give away, which is a little less than is built in. */
export function memoryIn(text: string): JsonObject {
  const [, kibibytes] = /^MemTotal:\s+(\d+) kB$/m.exec(text) ?? [];
  return kibibytes === undefined ? {} : { memory: { usable: `${kibibytes}Ki` } };
}

/** Of what has a device behind it; the others are made of files, of memory or of other disks. */
async function diskAt(name: string, read: Read): Promise<JsonObject[]> {
  const at = (file: string) => read(`sys/block/${name}/${file}`);
  const device = await at("device/uevent");
  const sectors = Number(await at("size"));
  // A drive without a disk in it.
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

/** Of what has a device behind it, as disks. The speed is -1 where there is no link. */
async function interfaceAt(name: string, read: Read): Promise<JsonObject[]> {
  const at = (file: string) => read(`sys/class/net/${name}/${file}`);
  if ((await at("device/uevent")) === undefined) return [];
  const speed = Number((await at("speed")) ?? -1);
  return [said({ name, mac: await at("address"), speed: speed > 0 ? `${speed}Mb/s` : undefined })];
}

/** As the firmware tells it; serial numbers are for root alone. */
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

/** As many of the lists as there is room for; the longest gives way first. */
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
