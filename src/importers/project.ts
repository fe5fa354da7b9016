/** Returns the project of a folder, which is its name: `coppice` for `/home/ada/coppice`. */
export function projectOf(folder: string): string {
  return folder.split(/[\\/]/).filter(Boolean).at(-1) ?? folder;
}
