import { s } from "#lib/schema/index.ts";
import { flag, open, reference, text, texts, whole } from "./fields.ts";

// Field names and limits are the original's: other programs read the parts that Slipway does not use.

/** Normalized, because machines are looked up by it. */
const mac = s.optional(
  s.string({ pattern: "^([0-9a-f]{2}:){5}[0-9a-f]{2}$", description: "Lower-case, with colons." }),
);

const address = s.object({
  address: text("The machine's address."),
  netmask: text(),
  gateway: text(),
  family: s.optional(s.integer({ description: "4 or 6." })),
});

/** A file without a server is useless, and vice versa. */
export const bootFileAlone = "tftp_server_name and boot_file_name are for each other: both or neither";
const isGiven = (name: string): string => `(has(self.${name}) && self.${name} != "")`;

/** DHCP settings of an interface. The mixed spelling is the original's. */
const dhcp = s.object(
  {
    mac,
    hostname: text(),
    domain_name: text(),
    lease_time: whole("Seconds."),
    name_servers: texts(),
    time_servers: texts(),
    arch: text(),
    uefi: flag("The machine boots by UEFI."),
    iface_name: text(),
    vlan_id: s.optional(
      s.string({
        pattern: "^(([0-9]|[1-9][0-9]{1,2}|[1-3][0-9]{3}|40[0-8][0-9]|409[0-6])(,|$))*$",
        description: "0 to 4096, as a text.",
      }),
    ),
    ip: s.optional(address),
    classless_static_routes: s.optional(s.list(s.object({ destination_descriptor: s.string(), router: s.string() }))),
    tftp_server_name: text("Only together with boot_file_name."),
    boot_file_name: text("Only together with tftp_server_name."),
  },
  {
    preserveUnknown: true,
    description: "The DHCP answer for the machine.",
    rules: [{ rule: `${isGiven("tftp_server_name")} == ${isGiven("boot_file_name")}`, message: bootFileAlone }],
  },
);

/** A workflow sets `allowPXE` if its boot options ask for it. */
const netboot = open(
  {
    allowPXE: flag("The machine may boot from the network."),
    allowWorkflow: flag("The machine may run workflows."),
    ipxe: s.optional(open({ url: text(), contents: text(), binary: text() })),
    osie: s.optional(open({ baseURL: text(), kernel: text(), initrd: text(), kernelParams: texts() })),
  },
  "What the machine gets when it boots from the network.",
);

const instanceAddress = s.object({
  address: text(),
  netmask: text(),
  gateway: text(),
  family: s.optional(s.integer()),
  public: flag(),
  management: flag(),
});

/** Metadata of the machine in use, which templates write to disks: user data, host name, keys. */
const instance = open({
  id: text(),
  state: text(),
  hostname: text(),
  allow_pxe: flag(),
  rescue: flag(),
  always_pxe: flag(),
  network_ready: flag(),
  ipxe_script_url: text(),
  userdata: text(),
  crypted_root_password: text(),
  tags: texts(),
  ssh_keys: texts(),
  operating_system: s.optional(
    open({ slug: text(), distro: text(), version: text(), image_tag: text(), os_slug: text() }),
  ),
  ips: s.optional(s.list(instanceAddress)),
  storage: s.optional(s.anyObject()),
});

/** Other facts about the machine. `custom` is free. */
const metadata = open({
  state: text(),
  bonding_mode: s.optional(s.integer()),
  manufacturer: s.optional(open({ id: text(), slug: text() })),
  facility: s.optional(open({ plan_slug: text(), plan_version_slug: text(), facility_code: text() })),
  instance: s.optional(instance),
  custom: s.optional(s.anyObject()),
});

/** The same in both versions, so that neither loses the other's fields. */
const bmcRef = s.optional(
  s.object({ apiGroup: text(), kind: text(), name: text() }, { description: "What controls its power." }),
);

export const HardwareSpec = open(
  {
    agentID: text("The agent on this machine, where it is not the address of an interface."),
    auto: s.optional(open({ enrollmentEnabled: flag() })),
    bmcRef,
    disks: s.optional(s.list(open({ device: text("Path: /dev/nvme0n1.") }))),
    interfaces: s.optional(
      s.list(
        open({
          dhcp: s.optional(dhcp),
          netboot: s.optional(netboot),
          isoboot: s.optional(open({ sourceISO: text() })),
          disableDhcp: flag(),
        }),
      ),
    ),
    metadata: s.optional(metadata),
    references: s.optional(
      s.map(s.object({ group: text(), version: text(), resource: text(), namespace: text(), name: text() }), {
        description: "Objects that templates may look into.",
      }),
    ),
    userData: text(),
    vendorData: text(),
    resources: s.optional(s.map(s.quantity())),
    tinkVersion: s.optional(s.integer()),
  },
  "One machine.",
);

/** An interface under its address. Times are in seconds here, too, as the names say. */
const interfaceV2 = open({
  dhcp: s.optional(
    open({
      ip: text(),
      netmask: text(),
      gateway: text(),
      hostname: text(),
      vlanId: s.optional(s.integer({ minimum: 0, maximum: 4096 })),
      nameservers: texts(),
      timeservers: texts(),
      leaseTimeSeconds: whole("86400 in templates if unset."),
    }),
  ),
  disableDhcp: flag(),
  disableNetboot: flag(),
});

export const HardwareSpecV2 = open(
  {
    agentID: text("The agent on this machine, where it is not the address of an interface."),
    networkInterfaces: s.optional(s.map(interfaceV2, { description: "By MAC address, lower-case with colons." })),
    ipxe: s.optional(open({ inline: text(), url: text() })),
    osie: s.optional(reference("The system it boots into to be provisioned.")),
    kernelParams: texts(),
    instance: s.optional(open({ userdata: text(), vendordata: text() })),
    storageDevices: s.optional(s.list(s.any({ description: "Absolute path: /dev/sda, or {name: /dev/sda}." }))),
    bmcRef,
  },
  "One machine.",
);

export const HardwareStatus = open({ state: text() });
