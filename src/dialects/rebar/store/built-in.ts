import type { AnyObject, BootEnv, Collection, ObjectOf, Param, Prefs, Role, Stage } from "../objects.ts";

// What every server has without storing it: the bundle BasicStore, and values of preferences.

export const basicStore = "BasicStore";

/** Bundles in use require at least 4.6 of it. */
export const basicStoreMeta = {
  Name: basicStore,
  Version: "4.8.0",
  Type: "basic",
  Description: "Objects that every server has.",
  Source: "Slipway",
} as const;

const common = {
  Validated: true,
  Available: true,
  Errors: [],
  ReadOnly: true,
  Meta: {},
  Endpoint: "",
  Bundle: basicStore,
  Documentation: "",
} as const;

const stage = (Name: string, Description: string, env: string): Stage => ({
  ...common,
  Name,
  Description,
  BootEnv: env,
  Tasks: [],
  Templates: [],
  RequiredParams: [],
  OptionalParams: [],
  Params: {},
  Profiles: [],
  Reboot: false,
  RunnerWait: true,
  Partial: false,
});

const noOs = {
  Name: "",
  Family: "",
  Codename: "",
  Version: "",
  IsoFile: "",
  IsoSha256: "",
  IsoUrl: "",
  SupportedArchitectures: {},
} as const;

const bootEnv = (Name: string, Description: string, OnlyUnknown: boolean): BootEnv => ({
  ...common,
  Name,
  Description,
  OS: { ...noOs, Name },
  Kernel: "",
  Initrds: [],
  BootParams: "",
  Templates: [],
  RequiredParams: [],
  OptionalParams: [],
  OnlyUnknown,
  Loaders: {},
});

const localBoot: Param = {
  ...common,
  Name: "pxelinux-local-boot",
  Description: "How pxelinux starts what is on the disk.",
  Secure: false,
  Schema: { type: "string", default: "localboot 0" },
};

const superuser: Role = {
  ...common,
  Name: "superuser",
  Description: "May do everything.",
  Claims: [{ scope: "*", action: "*", specific: "*" }],
};

const objects: { readonly [C in Collection]?: readonly ObjectOf[C][] } = {
  stages: [
    stage("local", "Starts what is on the machine's disk.", "local"),
    stage("none", "No tasks, and the boot environment stays.", ""),
  ],
  bootenvs: [
    bootEnv("ignore", "Unknown machines start from their disk.", true),
    bootEnv("local", "The machine starts from its disk.", false),
  ],
  params: [localBoot],
  roles: [superuser],
};

export const builtIn = <C extends Collection>(collection: C): readonly ObjectOf[C][] => objects[collection] ?? [];

export const builtInSections = (): Readonly<Record<string, Readonly<Record<string, AnyObject>>>> =>
  Object.fromEntries(
    Object.entries(objects).map(([type, list]) => [
      type,
      Object.fromEntries(list.map((one) => ["Name" in one ? one.Name : "", one])),
    ]),
  );

const debugged = ["debugBootEnv", "debugDhcp", "debugFrontend", "debugPlugins", "debugRenderer"];

export const defaultPrefs: Prefs = {
  defaultWorkflow: "",
  defaultStage: "none",
  defaultBootEnv: "local",
  unknownBootEnv: "ignore",
  knownTokenTimeout: "3600",
  unknownTokenTimeout: "600",
  logLevel: "warn",
  ...Object.fromEntries(debugged.map((name) => [name, "warn"])),
};

/** Preferences that a Secret has, and that nobody reads over the API. */
export const secretPrefs: readonly string[] = ["baseTokenSecret", "systemGrantorSecret"];
