type Meta = Readonly<Record<string, string>>;

/** The items of `Meta["feature-flags"]`, a comma list. */
export const flagList = (text: string | undefined): readonly string[] =>
  (text ?? "")
    .split(",")
    .map((flag) => flag.trim())
    .filter((flag) => flag !== "");

export const flagText = (flags: readonly string[]): string => [...new Set(flags)].sort().join(",");

export const withFlags = (meta: Meta, flags: readonly string[]): Meta => {
  const text = flagText(flags);
  return meta["feature-flags"] === text ? meta : { ...meta, "feature-flags": text };
};

const flagsOf = (meta: Meta | undefined): readonly string[] => flagList(meta?.["feature-flags"]);

/** Merges the flags of boot environment and stage. Agents require `change-stage-v2`. */
export function machineFlags(bootEnv: Meta | undefined, stage: Meta | undefined): readonly string[] {
  const flags = ["change-stage-v2", ...flagsOf(bootEnv), ...flagsOf(stage)];
  return flags.includes("original-change-stage") ? flags.filter((flag) => flag !== "change-stage-v2") : flags;
}
