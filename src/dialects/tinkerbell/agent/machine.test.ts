import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { describeMachine, maxMachineBytes } from "./machine.ts";

async function machineOf(files: Readonly<Record<string, string>>) {
  const root = `${await mkdtemp(join(tmpdir(), "slipway-machine-"))}/`;
  try {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text);
    }
    return await describeMachine(root);
  } finally {
    await rm(root, { recursive: true });
  }
}

const thread = (id: number, socket: number) =>
  `processor\t: ${id}\nvendor_id\t: GenuineIntel\nmodel name\t: Xeon : 2\nphysical id\t: ${socket}\ncpu cores\t: 1\n`;
const disk = (name: string, more: Readonly<Record<string, string>> = {}) => ({
  [`sys/block/${name}/device/uevent`]: "DRIVER=x\n",
  [`sys/block/${name}/size`]: "2048\n",
  ...more,
});

test("a machine is described in the names of released agents, from what its kernel shows", async () => {
  const described = await machineOf({
    "proc/cpuinfo": [thread(0, 0), thread(1, 0), thread(2, 1), thread(3, 1)].join("\n"),
    "proc/meminfo": "MemTotal:       16307384 kB\nMemFree:         1 kB\n",
    ...disk("nvme0n1", {
      "sys/block/nvme0n1/queue/rotational": "0\n",
      "sys/block/nvme0n1/queue/physical_block_size": "4096\n",
      "sys/block/nvme0n1/device/model": "Fast 1T   \n",
      "sys/block/nvme0n1/device/serial": "S1\n",
      "sys/block/nvme0n1/wwid": "eui.1\n",
    }),
    ...disk("sda", { "sys/block/sda/queue/rotational": "1\n" }),
    "sys/block/loop0/size": "4096\n",
    ...disk("sdb", { "sys/block/sdb/size": "0\n" }),
    "sys/class/net/eth0/device/uevent": "DRIVER=e1000e\n",
    "sys/class/net/eth0/address": "52:54:00:00:00:01\n",
    "sys/class/net/eth0/speed": "1000\n",
    "sys/class/net/eth1/device/uevent": "DRIVER=e1000e\n",
    "sys/class/net/eth1/address": "52:54:00:00:00:02\n",
    "sys/class/net/eth1/speed": "-1\n",
    "sys/class/net/lo/address": "00:00:00:00:00:00\n",
    "sys/class/dmi/id/sys_vendor": "Maker\n",
    "sys/class/dmi/id/product_name": "R1\n",
    "sys/class/dmi/id/bios_date": "01/02/2024\n",
    "sys/class/dmi/id/board_name": "B1\n",
    "sys/class/dmi/id/chassis_serial": "C1\n",
  });
  expect(described).toEqual({
    cpu: {
      total_cores: 2,
      total_threads: 4,
      processors: [
        { id: 0, cores: 1, threads: 2, vendor: "GenuineIntel", model: "Xeon : 2" },
        { id: 1, cores: 1, threads: 2, vendor: "GenuineIntel", model: "Xeon : 2" },
      ],
    },
    memory: { usable: "16307384Ki" },
    block: [
      {
        name: "nvme0n1",
        drive_type: "SSD",
        size: "1024Ki",
        physical_block_size: "4096",
        model: "Fast 1T",
        wwn: "eui.1",
        serial_number: "S1",
      },
      { name: "sda", drive_type: "HDD", size: "1024Ki" },
    ],
    network: [
      { name: "eth0", mac: "52:54:00:00:00:01", speed: "1000Mb/s" },
      { name: "eth1", mac: "52:54:00:00:00:02" },
    ],
    chassis: { serial: "C1" },
    bios: { release_date: "01/02/2024" },
    baseboard: { product: "B1" },
    product: { name: "R1", vendor: "Maker" },
  });
});

test("threads without a socket are cores of one, as on ARM", async () => {
  const cpuinfo = "processor\t: 0\nBogoMIPS\t: 50.00\n\nprocessor\t: 1\nBogoMIPS\t: 50.00\n\nHardware\t: x\n";
  expect(await machineOf({ "proc/cpuinfo": cpuinfo })).toEqual({
    cpu: { total_cores: 2, total_threads: 2, processors: [{ id: 0, cores: 2, threads: 2 }] },
  });
});

test("of a machine that shows nothing nothing is told", async () => {
  expect(await machineOf({})).toEqual({});
});

test("what is told fits in a header, however many disks there are and whatever firmware says", async () => {
  const many = Object.assign({}, ...Array.from({ length: 200 }, (_each, at) => disk(`sd${at}`))) as Record<
    string,
    string
  >;
  const eth0 = { "sys/class/net/eth0/device/uevent": "x", "sys/class/net/eth0/address": "52:54:00:00:00:01" };
  const described = await machineOf({ ...many, ...eth0, "sys/class/dmi/id/product_name": "x".repeat(4000) });
  expect(Buffer.byteLength(JSON.stringify(described))).toBeLessThanOrEqual(maxMachineBytes);
  expect(described).toMatchObject({ network: [{ name: "eth0" }], product: { name: "x".repeat(100) } });
  expect(described["block"]).toHaveProperty(
    "length",
    expect.toSatisfy((length: number) => length > 20 && length < 200),
  );
});
