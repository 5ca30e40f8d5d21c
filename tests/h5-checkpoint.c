/* SPDX-License-Identifier: BSD-3-Clause */
/* h5-checkpoint.c -- a stock HDF5 program: writes a checkpoint, row by row
 *
 *	h5-checkpoint MEBIBYTES FILE
 *
 * Four variables of equal size, each written in rows of 64 KiB as a
 * simulation does that hands out one plane after the other.  The file is the
 * same, byte for byte, on every run.
 */

#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>

#define COLUMNS 8192			/* of 8 bytes: rows of 64 KiB */
#define VARIABLES 4

static double row[COLUMNS];

static void
fill_row(int variable, hsize_t r)
{
	size_t i;

	for (i = 0; i < COLUMNS; i++)
		row[i] = variable * 1000.0 + (double)r + (double)i / COLUMNS;
}

static int
write_rows(hid_t dset, hid_t file_space, int variable, hsize_t rows)
{
	hsize_t count[2] = { 1, COLUMNS }, start[2] = { 0, 0 };
	hid_t mem_space = H5Screate_simple(2, count, NULL);
	herr_t r = 0;

	for (; r >= 0 && start[0] < rows; start[0]++) {
		fill_row(variable, start[0]);
		H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL,
				    count, NULL);
		r = H5Dwrite(dset, H5T_NATIVE_DOUBLE, mem_space, file_space,
			     H5P_DEFAULT, row);
	}
	H5Sclose(mem_space);
	return r < 0 ? -1 : 0;
}

static int
write_variable(hid_t file, int variable, hsize_t rows)
{
	hsize_t dims[2] = { rows, COLUMNS };
	hid_t space = H5Screate_simple(2, dims, NULL);
	hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
	char name[16];
	hid_t dset;
	int r = -1;

	H5Pset_obj_track_times(plist, 0);
	snprintf(name, sizeof(name), "var%d", variable);
	dset = H5Dcreate2(file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT,
			  plist, H5P_DEFAULT);
	if (dset >= 0) {
		r = write_rows(dset, space, variable, rows);
		if (H5Dclose(dset) < 0)
			r = -1;
	}
	H5Pclose(plist);
	H5Sclose(space);
	return r;
}

int
main(int argc, char **argv)
{
	hsize_t rows;
	hid_t file;
	int i, r = 0;

	if (argc != 3 || atoi(argv[1]) <= 0) {
		fprintf(stderr, "usage: h5-checkpoint MEBIBYTES FILE\n");
		return 2;
	}
	rows = (hsize_t)atoi(argv[1]) * 16 / VARIABLES;
	file = H5Fcreate(argv[2], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	if (file < 0)
		return 1;
	for (i = 0; r == 0 && i < VARIABLES; i++)
		r = write_variable(file, i, rows);
	if (H5Fclose(file) < 0)
		r = -1;
	return r ? 1 : 0;
}
