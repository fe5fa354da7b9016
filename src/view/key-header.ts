/**
 * The header of the key. Browsers add it to nothing by themselves, and send it to no other port or name, as they do with cookies. A page
 * of another origin cannot send it.
 */
export const KEY_HEADER = "coppice-key";
