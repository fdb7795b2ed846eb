import { isJsonObject } from "#lib/base/index.ts";
import type { Collection } from "../objects.ts";
import { zeroTime } from "../objects.ts";
import {
  anything,
  type Fields,
  flag,
  integer,
  label,
  listOf,
  mapOf,
  type Reader,
  structOf,
  text,
  textOr,
  uuid,
} from "./shape.ts";

// Valid lists and maps are returned as they are, so comparing them with the old ones is one identity check.
const textList = listOf(text);
const texts: Reader = (value, at, problems) =>
  Array.isArray(value) && value.every((item) => typeof item === "string") ? value : textList(value, at, problems);
const labels = mapOf(label);
const valueMap = mapOf(anything);
const values: Reader = (value, at, problems) => (isJsonObject(value) ? value : valueMap(value, at, problems));
const claims = listOf(structOf({ scope: text, action: text, specific: text }));

const templates = listOf(structOf({ Name: text, Path: text, ID: text, Contents: text, Link: text, Meta: labels }));

const architecture = structOf({
  IsoFile: text,
  Sha256: text,
  IsoUrl: text,
  Kernel: text,
  Initrds: texts,
  BootParams: text,
  Loader: text,
});

const system = structOf({
  Name: text,
  Family: text,
  Codename: text,
  Version: text,
  IsoFile: text,
  IsoSha256: text,
  IsoUrl: text,
  SupportedArchitectures: mapOf(architecture),
});

const fingerprint = structOf({
  SSNHash: text,
  CSNHash: text,
  CloudInstanceID: text,
  SystemUUID: text,
  MemoryIds: texts,
});

const common: Fields = {
  Validated: flag,
  Available: flag,
  Errors: texts,
  ReadOnly: flag,
  Meta: labels,
  Endpoint: text,
  Bundle: textOr("BackingStore"),
  Description: text,
};
const named: Fields = { ...common, Name: text };
const documented: Fields = { ...named, Documentation: text };
const needs: Fields = { RequiredParams: texts, OptionalParams: texts };

/** The wire fields of every collection, with the default of each. */
export const fieldsOf: Readonly<Record<Collection, Fields>> = {
  machines: {
    ...named,
    Uuid: uuid,
    Address: text,
    HardwareAddrs: texts,
    Arch: textOr("amd64"),
    OS: text,
    Workflow: text,
    Stage: text,
    BootEnv: text,
    Context: text,
    Profiles: texts,
    Params: values,
    Tasks: texts,
    CurrentTask: integer,
    CurrentJob: uuid,
    Runnable: flag,
    Locked: flag,
    Secret: text,
    WorkflowComplete: flag,
    Pool: textOr("default"),
    PoolAllocated: flag,
    PoolStatus: textOr("Free"),
    RetryTaskAttempt: integer,
    TaskErrorStacks: listOf(anything),
    Fingerprint: fingerprint,
    Partial: flag,
  },
  jobs: {
    ...common,
    Uuid: uuid,
    Previous: uuid,
    Machine: uuid,
    Task: text,
    Workflow: text,
    Stage: text,
    BootEnv: text,
    Context: text,
    State: textOr("created"),
    ExitState: text,
    StartTime: textOr(zeroTime),
    EndTime: textOr(zeroTime),
    Archived: flag,
    Current: flag,
    CurrentIndex: integer,
    NextIndex: integer,
  },
  tasks: {
    ...documented,
    ...needs,
    Templates: templates,
    Prerequisites: texts,
    ExtraRoles: texts,
    ExtraClaims: claims,
  },
  stages: {
    ...documented,
    ...needs,
    BootEnv: text,
    Tasks: texts,
    Templates: templates,
    Params: values,
    Profiles: texts,
    Reboot: flag,
    RunnerWait: flag,
    Partial: flag,
  },
  workflows: { ...documented, Stages: texts },
  bootenvs: {
    ...documented,
    ...needs,
    OS: system,
    Kernel: text,
    Initrds: texts,
    BootParams: text,
    Templates: templates,
    OnlyUnknown: flag,
    Loaders: labels,
  },
  params: { ...documented, Secure: flag, Schema: (value) => value ?? {} },
  profiles: { ...documented, Params: values, Profiles: texts, Partial: flag },
  templates: { ...common, ID: text, Contents: text },
  contexts: { ...documented, Engine: text, Image: text },
  users: { ...named, Roles: texts, Secret: text },
  roles: { ...documented, Claims: claims },
  plugins: { ...named, Provider: text, Params: values, PluginErrors: texts, Partial: flag },
};
