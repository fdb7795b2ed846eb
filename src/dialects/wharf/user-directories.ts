// Directories of the user as the original names them, so that its files are found.

export interface UserPlaces {
  readonly home: string;
  readonly platform: string;
  readonly variable: (name: string) => string | undefined;
}

export function userConfigDirectory({ home, platform, variable }: UserPlaces): string {
  if (platform === "darwin") return `${home}/Library/Application Support`;
  if (platform === "win32") return variable("APPDATA") ?? `${home}/AppData/Roaming`;
  return variable("XDG_CONFIG_HOME") ?? `${home}/.config`;
}

export function userCacheDirectory({ home, platform, variable }: UserPlaces): string {
  if (platform === "darwin") return `${home}/Library/Caches`;
  if (platform === "win32") return variable("LOCALAPPDATA") ?? `${home}/AppData/Local`;
  return variable("XDG_CACHE_HOME") ?? `${home}/.cache`;
}
