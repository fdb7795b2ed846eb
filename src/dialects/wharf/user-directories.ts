// Where programs of a user keep what is theirs, by the rules of the system. The names below are those of the original, so that its files are found.

/** What decides where a user's directories are. */
export interface UserPlaces {
  /** The user's own directory, absolute. */
  readonly home: string;
  readonly platform: string;
  /** A variable of the process; undefined when it is not set, or set to nothing. */
  readonly variable: (name: string) => string | undefined;
}

/** For settings: what people write. */
export function userConfigDirectory({ home, platform, variable }: UserPlaces): string {
  if (platform === "darwin") return `${home}/Library/Application Support`;
  if (platform === "win32") return variable("APPDATA") ?? `${home}/AppData/Roaming`;
  return variable("XDG_CONFIG_HOME") ?? `${home}/.config`;
}

/** For what programs remember, and can do without. */
export function userCacheDirectory({ home, platform, variable }: UserPlaces): string {
  if (platform === "darwin") return `${home}/Library/Caches`;
  if (platform === "win32") return variable("LOCALAPPDATA") ?? `${home}/AppData/Local`;
  return variable("XDG_CACHE_HOME") ?? `${home}/.cache`;
}
