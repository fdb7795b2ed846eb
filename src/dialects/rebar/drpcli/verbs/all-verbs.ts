import { collections } from "../collections.ts";
import type { Verb } from "../verb.ts";
import { blobVerbs } from "./blobs.ts";
import { contentVerbs } from "./contents.ts";
import { jobVerbs } from "./jobs.ts";
import { machineVerbs } from "./machines.ts";
import { objectVerbs } from "./objects.ts";
import { otherVerbs } from "./others.ts";
import { partVerbs } from "./parts.ts";

export const verbs: readonly Verb[] = [
  ...collections.flatMap((row) => [...objectVerbs(row), ...partVerbs(row)]),
  ...machineVerbs,
  ...jobVerbs,
  ...contentVerbs,
  ...blobVerbs("files"),
  ...blobVerbs("isos"),
  ...otherVerbs,
];
