/** "Copp" in ASCII: the `PRAGMA application_id` of a store. */
export const APPLICATION_ID = 0x43_6f_70_70;
