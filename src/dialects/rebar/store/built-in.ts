import { made } from "../model/read.ts";
import type { AnyObject, BootEnv, Collection, ObjectOf, Prefs, Stage } from "../objects.ts";

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

const basic = { ReadOnly: true, Bundle: basicStore } as const;
const stage = (Name: string, Description: string, BootEnv: string): Stage =>
  made("stages", { ...basic, Name, Description, BootEnv });
const bootEnv = (Name: string, Description: string, OnlyUnknown: boolean): BootEnv => {
  const { OS, ...rest } = made("bootenvs", { ...basic, Name, Description, OnlyUnknown });
  return { ...rest, OS: { ...OS, Name } };
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
  params: [
    made("params", {
      ...basic,
      Name: "pxelinux-local-boot",
      Description: "How pxelinux starts what is on the disk.",
      Schema: { type: "string", default: "localboot 0" },
    }),
  ],
  roles: [
    made("roles", {
      ...basic,
      Name: "superuser",
      Description: "May do everything.",
      Claims: [{ scope: "*", action: "*", specific: "*" }],
    }),
  ],
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
