/** Reads a base64 data URL. Returns undefined for any other URL: a data URL in another form could not be restored exactly. */
export function readDataUrl(url: string): { mediaType: string; data: string } | undefined {
  const [, mediaType, data] = /^data:([^;,\s]+);base64,([A-Za-z0-9+/=_-]*)$/.exec(url) ?? [];
  return mediaType === undefined || data === undefined ? undefined : { mediaType, data };
}

export function dataUrlOf(mediaType: string, data: string): string {
  return `data:${mediaType};base64,${data}`;
}
