type Meta = Readonly<Record<string, string>>;

/** `Meta["feature-flags"]`, a comma list. */
export const flagsOf = (meta: Meta | undefined): readonly string[] =>
  (meta?.["feature-flags"] ?? "")
    .split(",")
    .map((flag) => flag.trim())
    .filter((flag) => flag !== "");

export const withFlags = (meta: Meta, flags: readonly string[]): Meta => {
  const text = [...new Set(flags)].sort().join(",");
  return meta["feature-flags"] === text ? meta : { ...meta, "feature-flags": text };
};

/** Merges the flags of boot environment and stage. Agents require `change-stage-v2`. */
export function machineFlags(bootEnv: Meta | undefined, stage: Meta | undefined): readonly string[] {
  const flags = ["change-stage-v2", ...flagsOf(bootEnv), ...flagsOf(stage)];
  return flags.includes("original-change-stage") ? flags.filter((flag) => flag !== "change-stage-v2") : flags;
}
