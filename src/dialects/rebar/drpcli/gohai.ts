import { readdir, readFile } from "node:fs/promises";
import { arch, cpus, networkInterfaces, release, totalmem, type NetworkInterfaceInfo } from "node:os";
import type { JsonObject, JsonValue } from "#lib/base/index.ts";

// A summary of this machine in the shape of the original's `gohai`, as far as content reads it: from /sys and /proc.

type Read = (path: string) => Promise<string>;

const namesIn = async (directory: string): Promise<readonly string[]> => {
  const names: readonly string[] = await readdir(directory).catch(() => []);
  return names.toSorted();
};

/** Never rejects: what cannot be read is empty. Serial numbers are for root only. */
export async function gatherFacts(root = "/"): Promise<JsonObject> {
  const read: Read = async (path) => (await readFile(`${root}${path}`, "utf8").catch(() => "")).trim();
  const [DMI, Networking, Storage, System] = await Promise.all([
    firmware(read),
    networking(root, read),
    storage(root, read),
    system(read),
  ]);
  return { DMI, Networking, Storage, System };
}

async function firmware(read: Read): Promise<JsonObject> {
  const at = (name: string) => read(`sys/class/dmi/id/${name}`);
  /** Members by the names of their files. */
  const described = async (files: Readonly<Record<string, string>>): Promise<JsonObject> =>
    Object.fromEntries(
      await Promise.all(Object.entries(files).map(async ([name, file]) => [name, await at(file)] as const)),
    );
  const processors = cpus();
  const [first] = processors;
  const sockets = new Set((await read("proc/cpuinfo")).match(/^physical id\s*:.*$/gm) ?? []);
  const kibibytes = Number(/^MemTotal:\s+(\d+) kB$/m.exec(await read("proc/meminfo"))?.[1] ?? totalmem() / 1024);
  return {
    BIOS: await described({ Vendor: "bios_vendor", Version: "bios_version", ReleaseDate: "bios_date" }),
    System: await described({
      Manufacturer: "sys_vendor",
      ProductName: "product_name",
      Version: "product_version",
      SerialNumber: "product_serial",
      UUID: "product_uuid",
      SKUNumber: "product_sku",
      Family: "product_family",
    }),
    Baseboards: [await described({ ...ofPart("board"), ProductName: "board_name" })],
    Chassis: [await described({ ...ofPart("chassis"), Type: "chassis_type" })],
    Hypervisor: (await read("sys/hypervisor/type")) || hypervisorOf(await at("sys_vendor"), await at("product_name")),
    Memory: { Total: kibibytes * 1024 },
    Processors: {
      TotalCoreCount: processors.length,
      TotalThreadCount: processors.length,
      Items: Array.from({ length: Math.max(1, sockets.size) }, () => ({ Version: first?.model ?? "" })),
    },
  };
}

const ofPart = (part: string) => ({
  Manufacturer: `${part}_vendor`,
  Version: `${part}_version`,
  SerialNumber: `${part}_serial`,
});

const hypervisorOf = (vendor: string, product: string): string =>
  /QEMU|KVM/i.test(`${vendor} ${product}`)
    ? "KVM"
    : /VMware/i.test(vendor)
      ? "VMware"
      : /VirtualBox/i.test(product)
        ? "VirtualBox"
        : "";

async function networking(root: string, read: Read): Promise<JsonObject> {
  const names = await namesIn(`${root}sys/class/net`);
  const known = networkInterfaces();
  const Interfaces = await Promise.all(names.map((name) => networkInterface(name, known[name] ?? [], root, read)));
  const Addrs: Record<string, JsonValue> = {};
  const HardwareAddrs: Record<string, JsonValue> = {};
  for (const { Name, HardwareAddr, Addrs: own } of Interfaces) {
    for (const address of own) Addrs[address] = Name;
    if (HardwareAddr !== "") HardwareAddrs[HardwareAddr] = Name;
  }
  return { Addrs, HardwareAddrs, Interfaces: Interfaces as unknown as JsonValue };
}

async function networkInterface(name: string, own: readonly NetworkInterfaceInfo[], root: string, read: Read) {
  const at = (file: string) => read(`sys/class/net/${name}/${file}`);
  const mac = await at("address");
  const speed = Number(await at("speed"));
  const isPhysical = (await namesIn(`${root}sys/class/net/${name}/device`)).length > 0;
  return {
    Name: name,
    HardwareAddr: mac === "00:00:00:00:00:00" ? "" : mac,
    Addrs: own.map(({ cidr, address }) => cidr ?? address),
    MTU: Number(await at("mtu")),
    Speed: speed > 0 ? speed : 0,
    Duplex: (await at("duplex")) === "full",
    Sys: { IsPhysical: isPhysical, OperState: await at("operstate"), IfIndex: Number(await at("ifindex")) },
  };
}

async function storage(root: string, read: Read): Promise<JsonObject> {
  const names = await namesIn(`${root}sys/block`);
  const disks = await Promise.all(
    names.map(async (name): Promise<JsonObject[]> => {
      const at = (file: string) => read(`sys/block/${name}/${file}`);
      const sectors = Number(await at("size"));
      const isReal = (await namesIn(`${root}sys/block/${name}/device`)).length > 0;
      if (!isReal || !(sectors > 0)) return [];
      return [
        {
          Name: `/dev/${name}`,
          Dev: await at("dev"),
          Size: sectors * 512,
          Vendor: await at("device/vendor"),
          Product: (await at("device/model")) || "UNKNOWN",
          Serial: (await at("serial")) || (await at("device/serial")) || "UNKNOWN",
          Rotational: (await at("queue/rotational")) === "1",
          Removable: (await at("removable")) === "1",
          ReadOnly: (await at("ro")) === "1",
        },
      ];
    }),
  );
  return { Disks: disks.flat() };
}

async function system(read: Read): Promise<JsonObject> {
  const memory = await read("proc/meminfo");
  const bytes = (name: string) => 1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(memory)?.[1] ?? 0);
  const processors = cpus();
  return {
    Arch: arch() === "x64" ? "amd64" : arch(),
    Kernel: release(),
    Memory: { Total: bytes("MemTotal"), Free: bytes("MemFree"), Available: bytes("MemAvailable") },
    OS: process.platform,
    ProcessorCount: processors.length,
    Processors: processors.map(({ model, speed }, at) => ({ ID: at, Model: model, Speed: String(speed) })),
  };
}
